// How many calls a millisecond can be done here?
//
// Counted only while somebody waits: then every call that ends is one that could not have ended sooner, and the count over that time is the
// capacity. Idle time says nothing of it. Two kinds of waiting are seen: a line here, and calls that had waited before they were seen (in the
// socket, for the event loop), which say so afterwards: who had waited for 40 ms tells that the last 40 ms were busy.
//
// 30 ends in 150 ms during which somebody waited: 0.2 a millisecond.
//
// Invariant: 0 until `LEAST` ends were counted, then finite and above 0.

/** So many ends are remembered, the older half of them with half the weight. */
const MEMORY = 256
const LEAST = 12

export class Pace {
  private busyMs = 0
  private done = 0
  /** The last end, where somebody waited here when it had come; else NaN. */
  private endedAt = Number.NaN
  /** The last call that was seen, and the ends since then. */
  private seenAt = Number.NaN
  private ends = 0

  /** A call has ended. `lined`: somebody waits here still. */
  end(now: number, lined: boolean): void {
    // From end to end: from when somebody began to wait would count the rest of a call as a whole one.
    if (now >= this.endedAt) this.add(now - this.endedAt, 1)
    this.endedAt = lined ? now : Number.NaN
    this.ends++
  }

  /** A call was seen that had waited `waitedMs` unseen. */
  seen(now: number, waitedMs: number): void {
    const sinceMs = now - this.seenAt
    if (waitedMs > 0 && waitedMs >= sinceMs) this.add(sinceMs, this.ends)
    this.seenAt = now
    this.ends = 0
  }

  /** Calls a millisecond; 0: not known. */
  get perMs(): number {
    return this.done < LEAST || this.busyMs <= 0 ? 0 : this.done / this.busyMs
  }

  private add(busyMs: number, done: number): void {
    this.busyMs += busyMs
    this.done += done
    if (this.done <= MEMORY) return
    this.busyMs /= 2
    this.done /= 2
  }
}
