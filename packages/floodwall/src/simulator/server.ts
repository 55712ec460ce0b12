import * as v from 'valibot'
import { count, countOrZero, parse } from '../core/schema.ts'
import { Machine, machineOptions } from './machine.ts'
import type { Reception } from './reception.ts'
import { GONE, overloaded, type Request, type Work } from './request.ts'
import { Station } from './station.ts'
import type { World } from './world.ts'

export const serverOptions = v.strictObject({
  ...machineOptions,
  /** Requests worked on at once. Default 1. */
  workers: v.optional(count, 1),
  /** Requests that may wait for a worker; more are refused. Default: as many as come. */
  queue: v.optional(countOrZero),
})

export type ServerOptions = v.InferInput<typeof serverOptions>

/** A server with workers (threads, processes, connections of a pool), each of which does one request from its beginning to its end. */
export class Server extends Machine {
  /** @throws ConfigError that names the options that are wrong */
  constructor(world: World, name: string, options: ServerOptions) {
    const { workers, queue, ...settings } = parse(serverOptions, options, name)
    super(world, name, settings, (reception) => new Workers(world, reception, workers, queue))
  }
}

/** Where a request is. */
const WORKED_ON = 0
const REFUSED = 1

class Workers implements Work {
  readonly station: Station<Request>
  private readonly world: World
  readonly reception: Reception
  private readonly queue: number

  constructor(world: World, reception: Reception, workers: number, queue = Number.POSITIVE_INFINITY) {
    this.world = world
    this.reception = reception
    this.queue = queue
    this.station = new Station(workers, reception.load, world.now, (request, tookMs) => {
      if (tookMs < Number.POSITIVE_INFINITY) world.plan(tookMs, request)
    })
  }

  /** The guard stands before the queue. */
  arrive(request: Request): void {
    this.reception.ask(request)
  }

  begin(request: Request): void {
    const { station } = this
    if (station.free || station.waiting.value < this.queue) station.enter(request)
    else this.reception.refuse(request, overloaded(0))
  }

  refuse(request: Request): void {
    request.phase = REFUSED
    this.world.plan(this.reception.refusalMs, request)
  }

  turn(request: Request): number {
    const { reception } = this
    if (reception.notices && request.unwanted) {
      reception.finish(request, GONE, 'dropped')
      return -1
    }
    reception.start(request)
    request.hung = request.fate === 'hangs'
    return request.hung ? Number.POSITIVE_INFINITY : reception.takes(request)
  }

  happen(request: Request): void {
    if (request.phase !== WORKED_ON) return this.reception.complete(request)
    if (!this.reception.callsOut(request)) this.resume(request)
  }

  resume(request: Request): void {
    // First the end, then the free worker: who hears of the answer and asks again stands behind those who wait.
    this.reception.complete(request)
    this.station.leave()
  }

  release(): void {
    this.station.leave()
  }
}
