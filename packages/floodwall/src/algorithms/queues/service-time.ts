import { RecentHistogram } from '../stats/recent-histogram.ts'

// How long does the work take of those who waited, once they go?
//
// The median of the successes of the last ten seconds, from the start of the work, never from the start of the wait: what a queue learns of
// its own delay would lengthen the delay that it allows. Failures and timeouts say how long somebody was ready to wait.
//
// Ten successes of 20 ms: 20. Then the target slows down to 100 ms: 100 once there are more of these, after ten seconds at the latest. With
// nobody let in there is nothing to measure, and after ten seconds nothing is known again, so that it never locks anybody out for good.
//
// Invariant: 0 while fewer than ten are known, else within 3 % of the median of at least the last five seconds, as of the last reading.

const SPAN_MS = 10_000
/** Fewer decide nothing: half of ten being above the median of all by chance is as likely as not, all of them one in a thousand. */
const LEAST = 10
/** Read for each that comes, and slow to move. */
const READ_EVERY_MS = 50

export class ServiceTime {
  private readonly recent = new RecentHistogram(SPAN_MS)
  private median = 0
  private readAgainAt = Number.NEGATIVE_INFINITY

  record(tookMs: number, now: number): void {
    this.recent.record(tookMs, now)
  }

  /** Milliseconds; 0 while too little is known. */
  at(now: number): number {
    if (now < this.readAgainAt) return this.median
    this.readAgainAt = now + READ_EVERY_MS
    this.median = this.recent.count(now) < LEAST ? 0 : (this.recent.percentile(0.5, now) ?? 0)
    return this.median
  }
}
