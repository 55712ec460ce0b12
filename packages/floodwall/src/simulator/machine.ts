import * as v from 'valibot'
import type { Next } from '../core/policy.ts'
import { spanOrZero } from '../core/schema.ts'
import { type ConditionOptions, faults } from './condition.ts'
import type { ServerReport } from './load.ts'
import { Reception, type ReceptionSettings } from './reception.ts'
import type { Work } from './request.ts'
import { serviceTime } from './service-time.ts'
import { type Target, target } from './target.ts'
import { through } from './through.ts'
import type { Part, World } from './world.ts'

/** A refused connection, a full queue: a round trip in one data centre. */
const REFUSAL = '0.2ms'

/** What servers of every sort may be told. */
export const machineOptions = {
  /** What a request takes when nothing is wrong. */
  service: serviceTime,
  /** The server's own floodwall, which a request must pass. Default: none. */
  guard: v.optional(through, []),
  /** The server hears when a caller has left, and knows his deadline: it does not begin what nobody waits for. Default: it does not. */
  notices: v.optional(v.boolean('true or false'), false),
  /** How long it takes to say no. Default 0.2 ms. */
  refusal: v.optional(spanOrZero, REFUSAL),
  /** What each request calls when the server has done its own part, and waits for. Default: nothing. */
  calls: v.optional(v.strictObject({ to: target, through: v.optional(through, []) })),
  /** What is wrong from when on. Default: nothing. */
  faults: v.optional(faults, []),
}

/** What servers of every sort can be asked. */
export abstract class Machine implements Target, Part {
  readonly name: string
  /** For a pipeline: `gate.start(server.serve, done)`. */
  readonly serve: Next
  private readonly reception: Reception
  private readonly clock: () => number

  /** @internal */
  constructor(world: World, name: string, settings: ReceptionSettings, makeWork: (reception: Reception) => Work) {
    world.expectNew(name)
    const reception = new Reception(world, name, settings, makeWork)
    this.name = name
    this.clock = world.now
    this.reception = reception
    world.join(this)
    this.serve = (call, done) => reception.receive(call, done)
  }

  /** What is wrong from now on, and nothing else; `{}`: nothing. */
  become(condition: ConditionOptions): void {
    this.reception.become(condition)
  }

  /** Requests inside now, the waiting ones included. */
  get inside(): number {
    return this.reception.load.inside.value
  }

  /** Requests that wait for a worker now. */
  get waiting(): number {
    return this.reception.load.waiting.value
  }

  /** How long the request that began last had waited, in milliseconds. */
  get queueDelayMs(): number {
    return this.reception.load.lastDelayMs
  }

  /** @internal */
  forget(): void {
    this.reception.load.forget(this.clock())
  }

  /** What it had to carry so far. */
  report(): ServerReport {
    return this.reception.load.report(this.clock(), this.reception.work.station.workers)
  }
}
