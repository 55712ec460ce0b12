// Whose turn is it to find out whether the target is back?
//
// Classes of calls that are not accepted probe, and four of them must not probe four times as much as one. So they take turns, and who has
// waited longest goes first: else a class that calls 50 times a second would take every turn, and one that calls once would never know.
//
// A turn each second, two classes probe, 50 calls and one call a second. The busy one stands back for a quarter of a second each time, in which the
// other comes in one case of five; after 8 s in which it did not, it passes out of turn, and the next turn is a second later.
//
// Invariants: one class alone never takes two turns within `everyMs`. One that calls waits at most 8 · `everyMs` and until its next call.

/** The part of `everyMs` for which a class stands back for each one that has waited longer. */
const STAND_BACK = 1 / 4
/** So many times `everyMs` a class waits for its turn. */
const PATIENCE = 8

export class Turns {
  private everyMs: number
  private share: number
  private at = Number.NEGATIVE_INFINITY
  /** Calls refused since the last probe. */
  private refused = 0

  /** A turn each `everyMs`, and one for each 1 / `share` calls that are refused. */
  constructor(everyMs: number, share: number) {
    this.everyMs = everyMs
    this.share = share
  }

  refuse(): void {
    this.refused++
  }

  /** True for one call of 1 / `share`. */
  takeShare(): boolean {
    if ((this.refused + 1) * this.share < 1) return false
    this.refused = 0
    return true
  }

  /**
   * True when it is the turn of a class that passed last at `passedAt`; `behind` is how many have waited longer. As distances: nobody waits until a
   * clock that stepped back has caught up.
   */
  take(passedAt: number, behind: number, now: number): boolean {
    const { everyMs } = this
    const waitedMs = Math.abs(now - passedAt)
    if (waitedMs < everyMs) return false
    const isTurn = !(Math.abs(now - this.at) < everyMs * (1 + behind * STAND_BACK))
    if (!isTurn && waitedMs < everyMs * PATIENCE) return false
    this.at = now
    this.refused = 0
    return true
  }

  /** Nothing came of it. */
  giveBack(): void {
    this.at = Number.NEGATIVE_INFINITY
  }

  /** Milliseconds until a class that passed last at `passedAt` may take a turn, if nobody else does. */
  waitMs(passedAt: number, now: number): number {
    return Math.max(0, Math.max(passedAt, this.at) + this.everyMs - now)
  }

  reconfigure(everyMs: number, share: number): void {
    this.everyMs = everyMs
    this.share = share
  }
}
