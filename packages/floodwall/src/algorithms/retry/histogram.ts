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
  /** @internal One lane for each place: who counts every call counts here, which saves a hop. */
  readonly ring: TimeRing

  constructor(overMs: number) {
    this.ring = new TimeRing(BUCKETS, overMs / BUCKETS, PLACES)
  }

  /** A try begins; 0 is the first of its operation. */
  count(attempt: number, now: number): void {
    this.ring.count(attempt < PLACES ? attempt : PLACES - 1, now)
  }

  /** Tries by their number, without the empty places at the end. */
  counts(now: number): number[] {
    const all = Array.from({ length: PLACES }, (_, attempt) => this.ring.total(attempt, now))
    return all.slice(0, all.findLastIndex((n) => n > 0) + 1)
  }
}
