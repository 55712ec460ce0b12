import { BUCKETS, bucketOf, endMs } from '../stats/histogram.ts'
import { isSample } from '../stats/sample.ts'
import { slotAt } from '../stats/slot.ts'

// How long do answers take, when not all of them were waited for?
//
// Source: the product-limit estimator of Kaplan and Meier, "Nonparametric Estimation from Incomplete Observations" (1958). An attempt that was
// cancelled after 70 ms has taken at least 70 ms, and nobody knows how much more. Left out, only the fast ones would be counted, and the
// percentile that decides when to cancel would fall with each cancel; counted as 70 ms, it would never rise above what it is. Here it counts
// among those that were still out, up to 70 ms and no further.
//
// Answers after 10, 20, 30 and 40 ms, one attempt left off after 25 ms. Of the 5 that were out at 10 ms 4/5 went on, of the 4 at 20 ms 3/4, of
// the 2 at 30 ms 1/2: a share of 4/5 · 3/4 · 1/2 = 0.3 takes longer than 30 ms, which is the 70th percentile.
//
// Invariant: without attempts that were left off it is the percentile by nearest rank, rounded up by 6 % at most. Where the tail is all left off, it is the longest time that anybody has waited. The window reaches back more than half of `overMs`, and at most all of it.

/** Half a window of counts. */
class Half {
  readonly answered: Uint32Array = new Uint32Array(BUCKETS)
  readonly leftOff: Uint32Array = new Uint32Array(BUCKETS)
  size = 0

  clear(): void {
    if (this.size === 0) return
    this.answered.fill(0)
    this.leftOff.fill(0)
    this.size = 0
  }
}

export class AnswerTimes {
  /** Samples ever taken, and turns of the window: another number where the percentiles may be others. */
  changes = 0
  private readonly halfMs: number
  private young = new Half()
  private old = new Half()
  private slot = 0

  constructor(overMs: number) {
    this.halfMs = overMs / 2
  }

  /** It answered after so long. */
  answered(ms: number, now: number): void {
    this.turn(now)
    if (isSample(ms)) this.count(this.young.answered, ms)
  }

  /** It was cancelled, or ended without an answer, after so long: an answer would have taken longer. */
  leftOff(ms: number, now: number): void {
    this.turn(now)
    if (isSample(ms)) this.count(this.young.leftOff, ms)
  }

  private count(counts: Uint32Array, ms: number): void {
    counts[bucketOf(ms)]!++
    this.young.size++
    this.changes++
  }

  /** Attempts that are known of. */
  size(now: number): number {
    this.turn(now)
    return this.young.size + this.old.size
  }

  /**
   * The time that a share `q` of all answers would not exceed, in milliseconds; undefined when nothing is known. Rounded up: where all take
   * alike, a hair less would be exceeded by all.
   */
  percentile(q: number, now: number): number | undefined {
    this.turn(now)
    const { young, old } = this
    let out = young.size + old.size
    if (out === 0) return undefined
    // 0.05 · 20 answers is not exactly one.
    const still = 1 - q + 1e-9
    let share = 1
    let last = 0
    for (let bucket = 0; out > 0; bucket++) {
      const answered = young.answered[bucket]! + old.answered[bucket]!
      const here = answered + young.leftOff[bucket]! + old.leftOff[bucket]!
      if (here === 0) continue
      share *= 1 - answered / out
      if (share <= still) return endMs(bucket)
      out -= here
      last = bucket
    }
    return endMs(last)
  }

  private turn(now: number): void {
    const slot = slotAt(now, this.halfMs)
    if (slot <= this.slot) return
    const oldest = this.old
    oldest.clear()
    if (slot === this.slot + 1) {
      this.old = this.young
      this.young = oldest
    } else this.young.clear()
    this.slot = slot
    this.changes++
  }
}
