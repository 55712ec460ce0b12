import { Breaker, type BreakerOptions, type BreakerState, breaker, type FloodEvent, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { parse } from '../../src/core/schema.ts'
import { admitted } from './asks.ts'

export const STATES: readonly BreakerState[] = ['closed', 'open', 'halfOpen', 'forcedOpen', 'disabled', 'metricsOnly']

/** What the `breaker.snapshot` schema makes of `inspect()`. */
export interface BreakerSnapshot {
  readonly state: BreakerState
  readonly sinceMs: number
  readonly probeInMs: number
  readonly nearness: number
  readonly opened: number
  readonly why: string
  readonly probes: { size: number; free: number; running: number; good: number; bad: number }
  readonly slowShare: number
  readonly hanging: number
  readonly rampShare: number
}

/** Parsed by the published schema: a field too many, one too few or a NaN throws. */
export function inspected(gate: Breaker, now: number): BreakerSnapshot {
  return parse(breaker.snapshot, gate.inspect(now), 'inspect()') as BreakerSnapshot
}

/** A breaker in a world of its own. */
export class Scene {
  readonly world: VirtualRuntime
  readonly gate: Breaker

  constructor(options: BreakerOptions, startAt = 0, seed = 1) {
    this.world = new VirtualRuntime({ startAt, seed })
    this.gate = new Breaker(options, this.world.env('peer/breaker'))
  }

  get now(): number {
    return this.world.now()
  }

  get state(): BreakerState {
    return this.gate.state(this.now)
  }

  get snapshot(): BreakerSnapshot {
    return inspected(this.gate, this.now)
  }

  /** Probes that are free + running + good + bad, and how many there are. */
  get probes(): readonly [sum: number, size: number] {
    const { size, free, running, good, bad } = this.snapshot.probes
    return [free + running + good + bad, size]
  }

  /** Changes of state so far: `closed -> open`. */
  get changes(): string[] {
    return this.world.events.flatMap((event) => (event.type === 'state' ? [`${event.from} -> ${event.to}`] : []))
  }

  get events(): readonly FloodEvent[] {
    return this.world.events
  }

  /** One call that ends at once, or after `tookMs`. */
  call(verdict: Verdict, tookMs = 0): void {
    const permit = admitted(this.gate, this.now)
    this.world.advance(tookMs)
    permit.settle(verdict, tookMs, this.now)
  }

  calls(times: number, verdict: Verdict): void {
    for (let i = 0; i < times; i++) this.call(verdict)
  }
}
