// Is there anything that retries could help?
//
// Source: ours. A budget over a window lends what the calls of the window were worth: when a target goes down, a tenth of the last ten seconds
// is spent within one, which doubles the load just then. So while nothing succeeds retries are paid for by the failures themselves, as they
// come; what was saved before is lent again, call by call, as calls succeed.
//
// ratio 0.1, 10 lent at most: of 500 calls that all fail the first 10 are tried again at once, then nobody until 110 have failed, then every
// tenth: 50 in all. If one of three fails, each of them is tried again: two successes make up for it.
//
// Invariant: of n calls in a row that fail, at most max(lent, ratio · n) are tried again, for any n.

export class Streak {
  private readonly ratio: number
  private readonly memoryMs: number
  /** First tries that have failed since the last success. */
  private failed = 0
  /** Retries that no success has made up for. */
  private granted = 0
  private lent = 0
  private lastAt = 0

  /**
   * @param ratio retries for each failure
   * @param memoryMs a failure that is older than this is forgotten, if none came after it
   */
  constructor(ratio: number, memoryMs: number) {
    this.ratio = ratio
    this.memoryMs = memoryMs
  }

  /** Called for each success: one comparison while all is well. */
  succeeded(): void {
    if (this.granted === 0) return
    this.failed = 0
    this.granted = Math.max(0, Math.min(this.granted, this.lent) - 1)
  }

  /** A first try has failed. */
  fail(now: number): void {
    if (now - this.lastAt > this.memoryMs) {
      this.failed = 0
      this.granted = 0
    }
    this.lastAt = now
    this.failed++
  }

  /** True if one more retry is paid for; `lent` may be out without any success. */
  allows(lent: number): boolean {
    this.lent = lent
    return this.granted + 1 <= Math.max(lent, this.ratio * this.failed)
  }

  /** A retry was granted. */
  grant(): void {
    this.granted++
  }

  /** It was not sent after all. */
  giveBack(): void {
    if (this.granted > 0) this.granted--
  }
}
