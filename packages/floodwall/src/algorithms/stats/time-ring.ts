import { milliseconds, wholeNumber } from './argument.ts'
import { isSample } from './sample.ts'
import { slotAt } from './slot.ts'

// How much happened lately, by the clock?
//
// Source: the bucketed sliding window that Hystrix (2012), Sentinel and resilience4j count with.
// A lane is one sum: calls, failures, milliseconds. All lanes of a ring share its buckets and turn together.
//
// 10 buckets of 1,000 ms, one failure at each of 0.5, 1.5 ... 9.5 s and one at 14.6 s: buckets 5 to 14 are in the
// window, so the total is 6. Read at 25 s: 0, since reading expires too.
//
// Invariant: total(lane) is the sum of the lane's cells, and no cell holds anything from before the oldest bucket of
// the window. The window reaches back more than span - width and at most span: the current bucket is still filling.
//
// Time only moves forward here. A `now` from before the newest one seen, or NaN, counts as the newest; nothing is lost
// and no bucket is written twice when a clock steps back.

/** Past this it is a log of events, not a window. */
const MOST_BUCKETS = 65_536
const MOST_LANES = 32

/** A bucket: milliseconds since it began, and the sum of each lane. */
export interface AgedSums {
  readonly ageMs: number
  readonly sums: readonly number[]
}

export class TimeRing {
  readonly buckets: number
  readonly widthMs: number
  readonly lanes: number
  /** Amounts that were no samples: negative, NaN, infinite. */
  dropped = 0

  /**
   * The lanes' totals, then the lanes of bucket 0, of bucket 1, and so on. A plain array of doubles and not a typed
   * array: of this size V8 keeps the bytes of the latter outside its heap, and a ring would take 350 bytes more.
   */
  private readonly cells: number[]
  /** Index of the first cell of the current bucket. */
  private at = 0
  /** Number of the current bucket, counted from time 0. */
  private slot = 0
  /** First instant of the next bucket: the hot path compares and divides nothing. At 0 the first use finds its bucket. */
  private until = 0
  /** Where the edges are moved to, below a width: 0 but after `recall`. */
  private shiftMs = 0

  /**
   * @param buckets how many, 1 to 65,536
   * @param widthMs length of each, in milliseconds; may be a fraction
   * @param lanes sums per bucket, 1 to 32
   * @throws RangeError naming the argument
   */
  constructor(buckets: number, widthMs: number, lanes: number) {
    this.buckets = wholeNumber('buckets', buckets, 1, MOST_BUCKETS)
    this.widthMs = milliseconds('widthMs', widthMs)
    this.lanes = wholeNumber('lanes', lanes, 1, MOST_LANES)
    // 0.5 first: V8 then stores doubles from the start, for good, and every ring has the same kind of array.
    this.cells = Array.from({ length: (buckets + 1) * lanes }, () => 0.5)
      .fill(0)
      // A copy of the exact size: what grew has room to spare.
      .slice()
    this.at = lanes
  }

  get spanMs(): number {
    return this.buckets * this.widthMs
  }

  /** Adds to one lane. The lane is a constant of the calling code, so it is not checked. */
  add(lane: number, amount: number, now: number): void {
    if (now >= this.until) this.turn(now)
    if (!isSample(amount)) {
      this.dropped++
      return
    }
    const cells = this.cells
    cells[lane]! += amount
    cells[this.at + lane]! += amount
  }

  /** Adds 1 to one lane: what a breaker does for every call, small enough to be inlined there. */
  count(lane: number, now: number): void {
    if (now >= this.until) this.turn(now)
    const { cells } = this
    cells[lane]! += 1
    cells[this.at + lane]! += 1
  }

  /** The lane's sum over the window that ends at `now`. */
  total(lane: number, now: number): number {
    if (now >= this.until) this.turn(now)
    return this.cells[lane]!
  }

  /** Forgets every event. `dropped` stays: it is a lifetime count. */
  clear(now: number): void {
    if (now >= this.until) this.turn(now)
    this.cells.fill(0)
  }

  /** What the buckets hold, oldest first, empty ones left out: how long ago each began, and its sums. */
  history(now: number): AgedSums[] {
    if (now >= this.until) this.turn(now)
    const found: AgedSums[] = []
    for (let back = this.buckets - 1; back >= 0; back--) {
      const at = this.cellOf(back)
      const sums = this.cells.slice(at, at + this.lanes)
      const ageMs = Math.max(0, now - ((this.slot - back) * this.widthMs + this.shiftMs))
      if (sums.some((sum) => sum !== 0)) found.push({ ageMs, sums })
    }
    return found
  }

  /**
   * Begins anew with these buckets, of which those that have left the window are forgotten. They may come from another clock: the edges are
   * moved to where theirs were, or results that are saved and recalled again and again would be rounded to live for ever.
   */
  recall(history: readonly AgedSums[], now: number): void {
    const { cells, lanes, widthMs } = this
    cells.fill(0)
    const began = now - (history[0]?.ageMs ?? now)
    this.shiftMs = began - slotAt(began, widthMs) * widthMs
    this.turn(now)
    for (const { ageMs, sums } of history) {
      // By its middle: an edge could be rounded into either neighbour.
      const back = this.slot - this.slotOf(now - ageMs + widthMs / 2)
      if (!(back >= 0 && back < this.buckets)) continue
      const at = this.cellOf(back)
      for (let lane = 0; lane < lanes; lane++) cells[at + lane]! += sums[lane] ?? 0
    }
    this.sum()
  }

  /** The first cell of the bucket that is so many before the current one. */
  private cellOf(back: number): number {
    const at = this.at - back * this.lanes
    return at > 0 ? at : at + this.buckets * this.lanes
  }

  private slotOf(now: number): number {
    return slotAt(now - this.shiftMs, this.widthMs)
  }

  private turn(now: number): void {
    const slot = this.slotOf(now)
    // After an infinite `now` every later one would be a step back, and the window would never move again.
    if (slot === Infinity) return
    const { cells, lanes } = this
    // An idle month and an idle window are the same: every bucket is emptied once.
    for (let gap = Math.min(slot - this.slot, this.buckets); gap > 0; gap--) {
      this.at += lanes
      if (this.at === cells.length) this.at = lanes
      for (let lane = 0; lane < lanes; lane++) cells[this.at + lane] = 0
    }
    this.slot = slot
    this.until = (slot + 1) * this.widthMs + this.shiftMs
    this.sum()
  }

  /** Totals afresh from the cells: subtracting what expired would leave the rounding of fractions behind, for ever. */
  private sum(): void {
    const { cells, lanes } = this
    for (let lane = 0; lane < lanes; lane++) {
      let total = 0
      for (let i = lane + lanes; i < cells.length; i += lanes) total += cells[i]!
      cells[lane] = total
    }
  }
}
