import { slotAt } from '../stats/slot.ts'
import { TimeRing } from '../stats/time-ring.ts'

// How often does this caller try again?
//
// Source: "Site Reliability Engineering", ch. 21: a client counts its requests by attempt number and sends the counts along. A server that
// hears of many second and third tries from its callers knows that others of its kind refuse, too: it answers "overloaded; do not retry", and
// ends retries that no single client could know to be too many.
//
// 100 operations in 10 s, 10 of them tried twice and one three times: 100, 10, 1.
//
// Invariant: bounded, whatever happens: eight counts, of which the last takes all later attempts; what is older than the window is forgotten.

/** As many as are sent along. */
const PLACES = 8
const BUCKETS = 10

export class RetryHistogram {
  /** @internal One lane for each place, and one for what was taken back of it: who counts every call counts here, which saves a hop. */
  readonly ring: TimeRing
  private readonly widthMs: number

  constructor(overMs: number) {
    this.widthMs = overMs / BUCKETS
    this.ring = new TimeRing(BUCKETS, this.widthMs, 2 * PLACES)
  }

  /** A try begins; 0 is the first of its operation. */
  count(attempt: number, now: number): void {
    this.ring.count(attempt < PLACES ? attempt : PLACES - 1, now)
  }

  /**
   * A try that began at `began` was refused before it was sent: its target has not seen it. What was counted in an earlier bucket stays, since
   * it leaves the window earlier, and others would be missing from then on.
   */
  takeBack(attempt: number, began: number, now: number): void {
    if (slotAt(began, this.widthMs) !== slotAt(now, this.widthMs)) return
    this.ring.count(PLACES + Math.min(attempt, PLACES - 1), now)
  }

  /** Tries by their number, without the empty places at the end. */
  counts(now: number): number[] {
    const all = Array.from({ length: PLACES }, (_, attempt) => this.total(attempt, now))
    return all.slice(0, all.findLastIndex((n) => n > 0) + 1)
  }

  private total(attempt: number, now: number): number {
    return this.ring.total(attempt, now) - this.ring.total(PLACES + attempt, now)
  }
}
