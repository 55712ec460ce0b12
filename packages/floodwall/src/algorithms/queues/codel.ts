// Does a queue stand, or is this only a burst?
//
// Source: folly's variant of CoDel (folly/executors/Codel), after Nichols and Jacobson, "Controlling Queue Delay" (2012, RFC 8289). The least
// delay of an interval tells bursts from standing queues: after a burst somebody finds an empty queue, in a standing one nobody does. Where
// it was above the target, the next interval sheds at its turn whatever has waited for more than twice the target. Packets slow their
// senders by being dropped one by one, at distances of interval / √n; callers do not, so that here all that are too old go.
//
// Target 5 ms, interval 100 ms, all delays 11 ms: the interval that ends at 100 ms is found standing, and from then on all go but the first
// of each interval. Delays of exactly 10 ms: it stands, and nobody goes.
//
// Invariant: nobody goes who has waited for twice the target or less, nor anybody in an interval after one with a delay up to the target.

/** What CoDel wants. Spans in milliseconds. */
export interface CodelSettings {
  /** The least delay of an interval that is no standing queue yet. folly: 5. */
  readonly targetMs: number
  /** folly: 100. */
  readonly intervalMs: number
}

export class Codel {
  targetMs: number
  intervalMs: number
  /** The least delay of the interval so far, in milliseconds. */
  leastMs = 0
  /** The last whole interval had a standing queue. */
  overloaded = false
  private endsAt: number
  /** The next delay begins an interval: it is the least so far, and never shed. */
  private begins = true

  /** `now` begins the first interval, which is over at once. */
  constructor({ targetMs, intervalMs }: CodelSettings, now = 0) {
    this.targetMs = targetMs
    this.intervalMs = intervalMs
    this.endsAt = now
  }

  /** Somebody's turn has come, after `delayMs`: true when he should be shed instead. */
  judge(delayMs: number, now: number): boolean {
    if (now > this.endsAt && !this.begins) {
      this.begins = true
      this.endsAt = now + this.intervalMs
      this.overloaded = this.leastMs > this.targetMs
    }
    if (this.begins) {
      this.begins = false
      this.leastMs = delayMs
      return false
    }
    if (delayMs < this.leastMs) this.leastMs = delayMs
    return this.overloaded && delayMs > 2 * this.targetMs
  }

  /** The least delay as a share of what is shed, in whole per cent, at most 100. */
  get load(): number {
    return Math.min(100, Math.trunc((100 * this.leastMs) / (2 * this.targetMs)))
  }
}
