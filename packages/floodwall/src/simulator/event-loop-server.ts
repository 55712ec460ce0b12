import * as v from 'valibot'
import { parse, share } from '../core/schema.ts'
import { Machine, machineOptions } from './machine.ts'
import type { Reception } from './reception.ts'
import { GONE, type Request, type Work } from './request.ts'
import { Station } from './station.ts'
import type { World } from './world.ts'

export const eventLoopServerOptions = v.strictObject({
  ...machineOptions,
  /** The share of the service time for which the handler computes, and nobody else gets a turn. For the rest it awaits others. */
  blocking: share,
})

export type EventLoopServerOptions = v.InferInput<typeof eventLoopServerOptions>

/**
 * A Node process: one loop, on which handlers take turns. A handler computes, awaits, and computes again: half of its blocking share before
 * the wait and half after it, all of it in one block where there is nothing to wait for. Any number of handlers may wait at once. What
 * arrives while the loop is busy waits unseen: its queue delay is the time until its handler starts, and only there the guard is asked.
 * To say no costs the loop `refusal`.
 */
export class EventLoopServer extends Machine {
  /** @throws ConfigError that names the options that are wrong */
  constructor(world: World, name: string, options: EventLoopServerOptions) {
    const { blocking, ...settings } = parse(eventLoopServerOptions, options, name)
    super(world, name, settings, (reception) => new Loop(world, reception, blocking, settings.calls !== undefined))
  }
}

/** Where a request is. */
const ARRIVED = 0
/** The guard is being asked, on the request's turn. */
const ASKED = 1
/** In a room of the guard's. */
const PARKED = 2
const REFUSED = 3
const FIRST_BLOCK = 4
const AWAITS = 5
const LAST_BLOCK = 6

class Loop implements Work {
  readonly station: Station<Request>
  private readonly world: World
  readonly reception: Reception
  private readonly blocking: number
  private readonly pauses: boolean

  constructor(world: World, reception: Reception, blocking: number, calls: boolean) {
    this.world = world
    this.reception = reception
    this.blocking = blocking
    this.pauses = blocking < 1 || calls
    this.station = new Station(1, reception.load, world.now, (request, tookMs) => world.plan(tookMs, request))
  }

  arrive(request: Request): void {
    this.station.enter(request)
  }

  turn(request: Request): number {
    if (request.phase !== ARRIVED) return this.blockOf(request)
    const { reception } = this
    if (reception.notices && request.unwanted) {
      reception.finish(request, GONE, 'dropped')
      return -1
    }
    reception.start(request)
    request.phase = ASKED
    reception.ask(request)
    // The handler awaits its turn in a room of the guard's: the loop is free.
    if (phaseOf(request) === ASKED) {
      request.phase = PARKED
      return -1
    }
    return this.blockOf(request)
  }

  begin(request: Request): void {
    const parked = request.phase === PARKED
    request.phase = FIRST_BLOCK
    if (parked) this.station.enter(request)
  }

  refuse(request: Request): void {
    const parked = request.phase === PARKED
    request.phase = REFUSED
    if (parked) this.station.enter(request)
  }

  happen(request: Request): void {
    const { phase } = request
    if (phase === AWAITS) {
      if (!this.reception.callsOut(request)) this.resume(request)
      return
    }
    if (phase === FIRST_BLOCK && request.fate === 'hangs') request.hung = true
    else if (phase === FIRST_BLOCK && this.pauses) {
      request.phase = AWAITS
      this.world.plan(this.reception.takes(request) * (1 - this.blocking), request)
    } else this.reception.complete(request)
    this.station.leave()
  }

  resume(request: Request): void {
    request.phase = LAST_BLOCK
    this.station.enter(request)
  }

  /** It hangs in an await, and keeps nobody from their turn. */
  release(): void {}

  private blockOf(request: Request): number {
    if (request.phase === REFUSED) return this.reception.refusalMs
    const computes = this.reception.takes(request) * this.blocking
    return this.pauses ? computes / 2 : computes
  }
}

/** Read anew: the guard was asked in between. */
function phaseOf(request: Request): number {
  return request.phase
}
