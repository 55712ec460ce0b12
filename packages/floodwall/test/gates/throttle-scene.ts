import {
  type Criticality,
  type Rejection,
  Throttle,
  type ThrottleOptions,
  type ThrottleState,
  throttle,
  type Verdict,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { parse } from '../../src/core/schema.ts'
import { admitted, ask, rejected } from '../support/asks.ts'

/** What `throttle.snapshot` makes of one class in `inspect()`. */
export interface ClassShown {
  readonly criticality: Criticality
  readonly state: ThrottleState
  readonly sinceMs: number
  readonly k: number
  readonly requests: number
  readonly accepts: number
  readonly drop: number
  readonly failed: number
  readonly overloaded: number
  readonly refused: number
  readonly probeInMs: number
}

interface Shown {
  readonly refused: number
  readonly probes: number
  readonly classes: readonly ClassShown[]
}

/** A throttle in a world of its own. */
export class Scene {
  readonly world: VirtualRuntime
  readonly gate: Throttle

  constructor(options: ThrottleOptions = {}, startAt = 0, seed = 1) {
    this.world = new VirtualRuntime({ startAt, seed })
    this.gate = new Throttle(options, this.world.env('shop/throttle'))
  }

  get now(): number {
    return this.world.now()
  }

  /** Parsed by the published schema: a field too many, one too few or a NaN throws. */
  get shown(): Shown {
    return parse(throttle.snapshot, this.gate.inspect(this.now), 'inspect()') as Shown
  }

  of(criticality: Criticality): ClassShown {
    const found = this.shown.classes.find((one) => one.criticality === criticality)
    if (found === undefined) throw new Error(`${criticality} has not called`)
    return found
  }

  /** Of the usual class. */
  get critical(): ClassShown {
    return this.of('critical')
  }

  get state(): ThrottleState {
    return this.critical.state
  }

  /** Changes of state so far: `critical: passing -> probing`. */
  get changes(): string[] {
    return this.world.events.flatMap((event) =>
      event.type === 'state' ? [`${event.why.split(':')[0]}: ${event.from} -> ${event.to}`] : [],
    )
  }

  /** Calls that must pass, and end at once. */
  calls(times: number, verdict: Verdict, criticality: Criticality = 'critical'): void {
    for (let i = 0; i < times; i++) admitted(this.gate, this.now, { criticality }).settle(verdict, 0, this.now)
  }

  /** `sent` calls at once, of which the first `accepted` are. All are sent before the first of them ends. */
  burst(sent: number, accepted: number, otherwise: Verdict = 'failure', criticality: Criticality = 'critical'): void {
    const permits = Array.from({ length: sent }, () => admitted(this.gate, this.now, { criticality }))
    permits.forEach((permit, i) => permit.settle(i < accepted ? 'success' : otherwise, 0, this.now))
  }

  /** How many of `times` calls would pass now; they leave no trace but refusals. */
  passing(times: number, criticality: Criticality = 'critical'): number {
    let passed = 0
    for (let i = 0; i < times; i++) {
      const answer = this.gate.tryAcquire(ask(this.now, { criticality }))
      if (!answer.ok) continue
      passed++
      answer.settle('ignored', 0, this.now)
    }
    return passed
  }

  no(criticality: Criticality = 'critical'): Rejection {
    return rejected(this.gate, this.now, { criticality })
  }
}

/** As fast as results come, without rights that time or numbers give. */
export const BARE: ThrottleOptions = { atLeast: 1, probeShare: 0, probeEvery: '1h' }
