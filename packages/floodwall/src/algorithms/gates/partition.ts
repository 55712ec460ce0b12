import { WindowedMaximum } from '../stats/minimum.ts'

// How much of a limit does one of several want?
//
// Its demand is the most that it used at once lately, and what it was refused since it last got something: what it wants now it will want in
// a moment too, and what it has not wanted for a while others may have.
//
// 6 of 10 slots are its own, it uses 2 and used 4 half a second ago: 2 slots are kept for it. Refused twice since then: 4 - 2, still 2;
// refused four times: 4 are kept, its whole share.
//
// Invariant: kept + used is at most its own share, as long as it does not use more.

/** Demand is remembered in so many parts of the span. */
const PARTS = 10

export class Partition {
  readonly name: string
  share: number
  /** Slots that are its own, a whole number. */
  own = 0
  used = 0
  refused = 0
  /** Refusals since it last got a slot. */
  private wanted = 0
  private demand: WindowedMaximum

  constructor(name: string, share: number, spanMs: number) {
    this.name = name
    this.share = share
    this.demand = new WindowedMaximum(spanMs, PARTS)
  }

  remember(spanMs: number): void {
    this.demand = new WindowedMaximum(spanMs, PARTS)
  }

  take(now: number): void {
    this.used++
    this.wanted = 0
    this.demand.record(this.used, now)
  }

  refuse(now: number): void {
    this.refused++
    this.wanted++
    this.demand.record(this.used + this.wanted, now)
  }

  /** Slots that nobody else may use now. */
  kept(now: number): number {
    if (this.used >= this.own) return 0
    return Math.max(0, Math.min(this.own, this.demand.value(now) ?? 0) - this.used)
  }
}

/**
 * Gives each its whole slots of `limit`: the whole part of share times limit, and what is left, one each, to those with the largest rest
 * (Hamilton's method). The sum is at most the limit.
 */
export function divide(limit: number, partitions: readonly Partition[]): void {
  let left = limit
  for (const partition of partitions) {
    // A share of 0.3 of 10 is 3, whatever doubles make of it.
    partition.own = Math.floor(partition.share * limit + 1e-9)
    left -= partition.own
  }
  const rest = (partition: Partition): number => partition.share * limit - partition.own
  for (const partition of [...partitions].sort((a, b) => rest(b) - rest(a))) {
    if (left <= 0 || rest(partition) <= 1e-9) break
    partition.own++
    left--
  }
}
