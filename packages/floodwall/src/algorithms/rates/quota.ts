import type { Quota } from '../../core/gate.ts'
import { GRAIN, type Pace } from './rate.ts'

// What would a caller like to know of a rate before it asks?
//
// A rate counts in fractions and in milliseconds; callers count calls. So what is left is floored, and the time is that until one whole unit more is there.
//
// 5 a second, burst 10, 3.4 tokens: 10 per 2 s, 3 left, one more in 120 ms.
//
// Invariant: whoever takes `left` now, and one more after `resetMs`, is not refused if nobody else takes.

/** Milliseconds in which `most` units are earned: for a bucket until it is full, for a window its length. */
export function windowOf({ rate, per }: Pace, most: number): number {
  return rate > 0 && most > 0 ? (most * per) / rate : Number.POSITIVE_INFINITY
}

/** `units`: what could be taken now, with its fraction; `waitFor`: milliseconds until so many could be. */
export function quotaOf(most: number, windowMs: number, units: number, waitFor: (cost: number) => number): Quota {
  const left = Math.max(0, Math.floor(units + GRAIN))
  const more = left + 1
  return { limit: most, windowMs, left, resetMs: more > most ? 0 : waitFor(more) }
}
