// How many calls ended in this window, and how many of them badly, as Sentinel would count?
//
// Source: the leap array of alibaba/sentinel-golang (commit f7a7f957): a ring of buckets that begin at multiples of their length on the
// clock, wherever the first call was.
//
// 10 s in 10 buckets: at 12,345 ms the window is the bucket from 12,000 and the nine before it; what ended at 2,999 is gone, and so is the
// whole second from 2,000 with it. One bucket of 10 s: at 9,999 ms it holds ten seconds, at 10,000 ms nothing.
//
// Invariant: with a clock that does not step back, the sums are those of the calls since `now - now mod length - (n - 1) · length`. With one
// that does, n > 1 loses a call whose bucket is in use for a later time, and n = 1 counts it where nobody sees it until the clock is back.

/** Its counts; a window outlives the breaker that counted in it. */
export class LeapArray {
  /** Of the window that was read last. */
  total = 0
  bad = 0
  private readonly intervalMs: number
  private readonly lengthMs: number
  private readonly starts: number[] = []
  private readonly totals: number[] = []
  private readonly bads: number[] = []

  /** Whole milliseconds; `buckets` that do not divide them are one. */
  constructor(intervalMs: number, buckets: number, now: number) {
    const n = buckets > 0 && intervalMs % buckets === 0 ? buckets : 1
    this.intervalMs = intervalMs
    this.lengthMs = intervalMs / n
    const first = this.startOf(now)
    const at = (first / this.lengthMs) % n
    for (let i = 0; i < n; i++) {
      // The next turn of the ring is laid out already: a clock that steps back from here finds its buckets taken.
      this.starts.push(first + ((i - at + n) % n) * this.lengthMs)
      this.totals.push(0)
      this.bads.push(0)
    }
  }

  /** Counts a call and reads the window; false when there is no bucket for it, and nothing happened. */
  add(isBad: boolean, now: number): boolean {
    const start = this.startOf(now)
    const i = (start / this.lengthMs) % this.starts.length
    const was = this.starts[i]!
    if (start > was) {
      this.starts[i] = start
      this.totals[i] = 0
      this.bads[i] = 0
    } else if (start < was && this.starts.length > 1) return false
    this.totals[i]! += 1
    if (isBad) this.bads[i]! += 1
    this.read(now)
    return true
  }

  /** Sets {@link total} and {@link bad} to what they are at `now`. */
  read(now: number): void {
    this.total = 0
    this.bad = 0
    for (let i = 0; i < this.starts.length; i++) {
      if (!this.inWindow(i, now)) continue
      this.total += this.totals[i]!
      this.bad += this.bads[i]!
    }
  }

  /** Empties the buckets of the window, and no others. */
  clear(now: number): void {
    for (let i = 0; i < this.starts.length; i++) {
      if (!this.inWindow(i, now)) continue
      this.totals[i] = 0
      this.bads[i] = 0
    }
    this.read(now)
  }

  private startOf(now: number): number {
    return now - (now % this.lengthMs)
  }

  /** "At most", not "less than": a reader exactly on a boundary sees a bucket more than fits. */
  private inWindow(i: number, now: number): boolean {
    const age = now - this.starts[i]!
    return age >= 0 && age <= this.intervalMs
  }
}
