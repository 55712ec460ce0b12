// What were the last results, in a row?
//
// A row is the quickest evidence there is. A window must be half full of an outage before half of it is bad; a row of bad results that has
// lasted for a second is one already, at any rate of calls. That it must last keeps a dropped connection, which fails many calls at once, apart
// from a target that is gone. That it must not pause keeps last night's failures apart from this morning's.
//
// 20 failures within 5 ms: no silence. 10 in a row, the last one a second after the first: silence, if 10 and 1 s are asked for.
//
// Invariant: one of `accepted` and `missed` is 0.

export class Streak {
  accepted = 0
  missed = 0
  private missedSince = 0
  private missedAt = 0

  accept(): void {
    this.accepted++
    this.missed = 0
  }

  /** One that was not accepted; after a pause of `forgetMs` it is the first. */
  miss(now: number, forgetMs: number): void {
    if (!(Math.abs(now - this.missedAt) < forgetMs)) this.missed = 0
    if (this.missed++ === 0) this.missedSince = now
    this.missedAt = now
    this.accepted = 0
  }

  /** At least so many in a row, over at least so long, and none of them accepted. */
  isSilence(atLeast: number, ms: number, now: number): boolean {
    return this.missed >= atLeast && Math.abs(now - this.missedSince) >= ms
  }
}
