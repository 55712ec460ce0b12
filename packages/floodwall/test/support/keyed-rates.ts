import { type KeyedRateLimit, type KeyedRateOptions, keyedRateLimit, type Snapshot } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect } from 'vitest'
import { parse } from '../../src/core/schema.ts'
import { ask } from './asks.ts'

export interface Shown extends Snapshot {
  readonly keys: number
  readonly evicted: number
  readonly inherited: number
  readonly shared: number
  readonly others: number
  readonly whole: {
    readonly tokens: number
    readonly oversold: number
    readonly above: number
    readonly levelled: number
  }
}

/** Limits by key in a world of their own. */
export class Keys {
  readonly world: VirtualRuntime
  readonly gate: KeyedRateLimit

  constructor(options: KeyedRateOptions, startAt = 0) {
    this.world = new VirtualRuntime({ startAt })
    this.gate = keyedRateLimit(options).build(this.world.env('api/keyedRateLimit')) as KeyedRateLimit
  }

  get now(): number {
    return this.world.now()
  }

  reload(options: KeyedRateOptions): void {
    expect(keyedRateLimit(options).build(this.world.env('api/keyedRateLimit'), this.gate)).toBe(this.gate)
  }

  /** How many of `times` calls of `key` pass now. */
  take(key: unknown, times = 1, cost = 1): number {
    let passed = 0
    for (let i = 0; i < times; i++) if (this.gate.tryAcquire(ask(this.now, { key: key as string, cost })).ok) passed++
    return passed
  }

  /** What inspect() says, through the published schema. */
  get shown(): Shown {
    return parse(keyedRateLimit.snapshot, this.gate.inspect(this.now), 'inspect()') as Shown
  }
}
