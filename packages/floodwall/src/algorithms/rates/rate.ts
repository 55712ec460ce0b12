/**
 * How often? Numbers in, numbers out: a cost and the time in, the milliseconds to wait out. Costs are finite and 0 or more, times are
 * milliseconds of one clock. A `now` before the newest one that it was told counts as that: a clock that steps back takes nothing and
 * gives nothing.
 */
export interface Rate {
  readonly kind: string
  /** The most that one take may ever cost. */
  readonly most: number
  /** Takes `cost`: 0 when it was taken; else nothing was taken, and it is the milliseconds until it could be; Infinity: never. */
  take(cost: number, now: number): number
  /**
   * Gives back what was taken and not used. `takenAt` is the time for which it was taken: that of the take, or the one that was promised. As much comes
   * back as would still be missing now: a window that has forgotten it returns nothing, and a bucket what has not been earned anew since. So a late
   * cancel never adds to what a rate grants; it is at most as if nothing had been taken. A `takenAt` before the true one gives back less.
   */
  give(cost: number, takenAt: number, now: number): void
  /** What could be taken now at once; below 0 while a debt is paid off. */
  left(now: number): number
  /** Nobody would notice if it were forgotten and made anew. */
  idle(now: number): boolean
}

/** A rate that can be promised ahead of its time, first come, first served. */
export interface Reservable extends Rate {
  /**
   * Takes `cost` for as soon as it can be had: the milliseconds until it may be used, later than all that was promised before. Above
   * `atMostMs` nothing was taken; Infinity: never.
   */
  reserve(cost: number, now: number, atMostMs: number): number
}

/** What is allowed: `rate` per `per`, in milliseconds. */
export interface Pace {
  readonly rate: number
  readonly per: number
}

/** One in 30 million years is none: what a smaller rate is worth would not be told from Infinity. */
const SLOWEST_MS = 1e18

/** Milliseconds that one unit is worth; Infinity where there is never another one. */
export function unitOf({ rate, per }: Pace): number {
  const unitMs = per / rate
  return unitMs < SLOWEST_MS ? unitMs : Number.POSITIVE_INFINITY
}

/** Rounding of one division: 100 ms at 10/s must be one whole token. Far below any cost that matters, and never given away twice. */
export const GRAIN = 1e-9

/** What of a cost that was taken `sinceMs` ago is missing for certain: what was earned since may be lost above the burst without it. */
export function missing(cost: number, sinceMs: number, perMs: number): number {
  const units = sinceMs > 0 ? cost - sinceMs * perMs : cost
  // Also where either is no number: nothing comes back then.
  return units > 0 ? units : 0
}

/** What is no cost (NaN, negative, a text) costs 1: a NaN among the tokens would let everything pass, for ever. */
export function costOf(cost: unknown): number {
  // The common way first: it is that of every call.
  if (typeof cost === 'number' && cost >= 0 && cost <= Number.MAX_VALUE) return cost
  return cost === Number.POSITIVE_INFINITY ? Number.MAX_VALUE : 1
}
