import fc from 'fast-check'
import { expect } from 'vitest'

// The references that the rings are held against: they keep every event and count by looking at all of them.

export interface Event {
  readonly lane: number
  readonly amount: number
  readonly at: number
}

/** A time window as its definition reads: filter by time, then sum. */
export class EventLog {
  readonly events: Event[] = []
  private newest = 0
  private readonly buckets: number
  private readonly widthMs: number

  constructor(buckets: number, widthMs: number) {
    this.buckets = buckets
    this.widthMs = widthMs
  }

  add(lane: number, amount: number, now: number): void {
    this.see(now)
    this.events.push({ lane, amount, at: this.newest })
  }

  /** The amounts of one lane that are inside the window. */
  amounts(lane: number, now: number): number[] {
    this.see(now)
    let current = Math.floor(this.newest / this.widthMs) - 2
    while ((current + 1) * this.widthMs <= this.newest) current++
    const oldest = (current - this.buckets + 1) * this.widthMs
    return this.events.filter((event) => event.lane === lane && event.at >= oldest).map((event) => event.amount)
  }

  total(lane: number, now: number): number {
    return this.amounts(lane, now).reduce((sum, amount) => sum + amount, 0)
  }

  clear(now: number): void {
    this.see(now)
    this.events.length = 0
  }

  private see(now: number): void {
    if (now > this.newest && now < Infinity) this.newest = now
  }
}

/** How the next instant follows from the last one. */
export type Move =
  | { readonly kind: 'stay' }
  | { readonly kind: 'by'; readonly ms: number }
  | { readonly kind: 'edge'; readonly buckets: number; readonly nudge: -1 | 0 | 1 }
  | { readonly kind: 'odd'; readonly now: number }

export const DAY_30 = 2_592_000_000
export const MAX_TIMER = 2_147_483_648

/** Mostly small steps, some onto an edge or beside it, some far, some back, and some that are no time at all. */
export const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Move>({ kind: 'stay' }) },
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 4000 }).map((n): Move => ({ kind: 'by', ms: n / 8 })) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 8000 }).map((n): Move => ({ kind: 'by', ms: n })) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.integer({ min: 0, max: 12 }), fc.constantFrom(-1, 0, 1) as fc.Arbitrary<-1 | 0 | 1>)
      .map(([buckets, nudge]): Move => ({ kind: 'edge', buckets, nudge })),
  },
  { weight: 1, arbitrary: fc.constantFrom(MAX_TIMER, DAY_30).map((ms): Move => ({ kind: 'by', ms })) },
  { weight: 1, arbitrary: fc.constantFrom(-1, -250, -3_600_000).map((ms): Move => ({ kind: 'by', ms })) },
  { weight: 1, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, -5).map((now): Move => ({ kind: 'odd', now })) },
)

/** `at` is where time stands; a move that is no time leaves it there. */
export function moved(at: number, move: Move, widthMs: number): number {
  switch (move.kind) {
    case 'stay':
    case 'odd':
      return at
    case 'by':
      return Math.max(0, at + move.ms)
    case 'edge':
      return Math.max(0, beside((Math.floor(at / widthMs) + move.buckets) * widthMs, move.nudge))
  }
}

/** The double next to `value`, or `value` itself. */
export function beside(value: number, nudge: -1 | 0 | 1): number {
  if (nudge === 0 || value <= 0) return value
  const bits = new BigUint64Array(new Float64Array([value]).buffer)
  bits[0] = bits[0]! + BigInt(nudge)
  return new Float64Array(bits.buffer)[0]!
}

export const SEEDED: { readonly seed: number; readonly numRuns: number } = { seed: 20261130, numRuns: 2000 }

/**
 * Samples from 0 to `most`, evenly spread on the scale of their logarithms, with 0 among them. Not fc.double, which
 * takes all doubles of a range alike: there are as many below 1 as above it.
 */
export function samplesTo(most: number): fc.Arbitrary<number> {
  const least = 1e-4
  const spread = fc.integer({ min: 0, max: 1_000_000 }).map((n) => least * Math.exp((n / 1e6) * Math.log(most / least)))
  return fc.oneof({ weight: 9, arbitrary: spread }, { weight: 1, arbitrary: fc.constantFrom(0, most) })
}

/** What every statistic must refuse to learn from. */
export const NOT_SAMPLES: readonly number[] = [-5, NaN, Infinity, -Infinity, -Number.MIN_VALUE, 1e300]

/** `expect` costs 10 us: in a loop of a million comparisons only a difference may reach it. */
export function agree(got: unknown, want: unknown): void {
  if (got !== want) expect(got).toBe(want)
}
