import { milliseconds } from './argument.ts'
import { Histogram } from './histogram.ts'
import { slotAt } from './slot.ts'

// How were the latencies of lately spread?
//
// Source: the rotating histograms of HdrHistogram's interval recorder, with two of them: one fills for half the span, the other still knows
// the half before; then they change places and the older one is emptied.
//
// Span 30 s: samples of 14.9 s and 15.1 s are read together until 30 s, when the first goes; at 45 s the second one, too.
//
// Invariant: no sample older than `spanMs` is read, and none younger than half of it is missing.

export class RecentHistogram {
  readonly spanMs: number
  private newer: Histogram = new Histogram()
  private older: Histogram = new Histogram()
  /** Of which half span `newer` is. */
  private slot = 0

  /**
   * @param spanMs how far it reaches back, in milliseconds
   * @throws RangeError naming the argument
   */
  constructor(spanMs: number) {
    this.spanMs = milliseconds('spanMs', spanMs)
  }

  record(valueMs: number, now: number): void {
    this.turn(now)
    this.newer.record(valueMs)
  }

  count(now: number): number {
    this.turn(now)
    return this.newer.count + this.older.count
  }

  /** As `Histogram.percentile`: undefined when empty, RangeError when `q` is not in 0..1. */
  percentile(q: number, now: number): number | undefined {
    this.turn(now)
    if (this.older.count === 0) return this.newer.percentile(q)
    const both = new Histogram()
    both.merge(this.older)
    both.merge(this.newer)
    return both.percentile(q)
  }

  private turn(now: number): void {
    const slot = slotAt(now, this.spanMs / 2)
    // A clock that steps back, or one at infinity: what comes counts as the newest.
    if (!(slot > this.slot) || slot === Number.POSITIVE_INFINITY) return
    const { newer, older } = this
    older.clear()
    if (slot > this.slot + 1) newer.clear()
    this.newer = older
    this.older = newer
    this.slot = slot
  }
}
