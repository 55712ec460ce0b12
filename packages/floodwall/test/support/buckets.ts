import { type RateOptions, rateLimit, TokenBucket } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { parse } from '../../src/core/schema.ts'
import { ask } from './asks.ts'

/** A bucket in a world of its own. */
export class Tap {
  readonly world: VirtualRuntime
  readonly gate: TokenBucket

  constructor(options: RateOptions, startAt = 0) {
    this.world = new VirtualRuntime({ startAt })
    this.gate = new TokenBucket(options, this.world.env('api/rateLimit'))
  }

  get now(): number {
    return this.world.now()
  }

  /** Tokens now, read through the published schema. */
  get tokens(): number {
    const shown = parse(rateLimit.snapshot, this.gate.inspect(this.now), 'inspect()') as { tokens: number }
    return shown.tokens
  }

  /** How many of `times` takes pass, all of them now. */
  take(times: number, cost = 1): number {
    let passed = 0
    for (let i = 0; i < times; i++) if (this.gate.tryAcquire(ask(this.now, { cost })).ok) passed++
    return passed
  }

  /** One take each `everyMs`, for `forMs`; how many pass. Times are multiplied, not added up, so that they stay exact. */
  offer(everyMs: number, forMs: number, cost = 1): number {
    const start = this.now
    const times = Math.round(forMs / everyMs)
    let passed = 0
    for (let i = 0; i < times; i++) {
      this.world.advance(Math.max(0, start + i * everyMs - this.now))
      passed += this.take(1, cost)
    }
    this.world.advance(Math.max(0, start + forMs - this.now))
    return passed
  }
}
