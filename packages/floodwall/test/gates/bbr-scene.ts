import { Bbr, type BbrOptions, bbr, type Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { parse } from '../../src/core/schema.ts'
import { admitted, ask } from '../support/asks.ts'

/** What `inspect()` shows. */
export interface Shown {
  readonly hot: boolean
  readonly cpu: number | null
  readonly ageMs: number | null
  readonly inFlight: number
  readonly bound: number
  readonly peak: number | null
  readonly leastMs: number | null
  readonly demand: number
  readonly refused: number
}

/** A gate in a world of its own, with a CPU that one sets. */
export class Scene {
  readonly world: VirtualRuntime
  readonly gate: Bbr
  usage = 0

  constructor(options: BbrOptions = {}, startAt = 0) {
    this.world = new VirtualRuntime({ startAt, seed: 3 })
    this.gate = new Bbr({ cpu: () => this.usage, weight: 1, sampleEvery: 1, ...options }, this.world.env('api/bbr'))
  }

  get now(): number {
    return this.world.now()
  }

  /** Parsed by the published schema: a field too many, one too few or a NaN throws. */
  get shown(): Shown {
    return parse(bbr.snapshot, this.gate.inspect(this.now), 'inspect()') as Shown
  }

  pass(ms: number): void {
    this.world.advance(ms)
  }

  admit(times = 1): Permit[] {
    return Array.from({ length: times }, () => admitted(this.gate, this.now))
  }

  /** How many of so many that ask at once come in; they stay. */
  enter(times: number): Permit[] {
    const permits: Permit[] = []
    for (let i = 0; i < times; i++) {
      const answer = this.gate.tryAcquire(ask(this.now))
      if (answer.ok) permits.push(answer)
    }
    return permits
  }

  /** For `ms`, one call each `everyMs`, of which each takes `tookMs`; no more than its bound are inside. */
  traffic(ms: number, everyMs: number, tookMs: number): void {
    const end = this.now + ms
    const inside: { readonly permit: Permit; readonly endsAt: number }[] = []
    for (let at = this.now; at < end; at += everyMs) {
      this.world.advance(at - this.now)
      while (inside[0] !== undefined && inside[0].endsAt <= at) inside.shift()?.permit.settle('success', tookMs, at)
      const answer = this.gate.tryAcquire(ask(at))
      if (answer.ok) inside.push({ permit: answer, endsAt: at + tookMs })
    }
    this.world.advance(end - this.now)
    for (const { permit } of inside) permit.settle('success', tookMs, this.now)
  }
}
