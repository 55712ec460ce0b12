// How much of the load does a signal leave?
//
// All of it while the signal is at 1 or below. Above, a little less with each look, the faster the further above; and as soon as it is below
// again, more by and by. That helps where the signal comes from the load. Memory that somebody else has taken does not come back however many
// are refused: so who has shed nearly everything for TRIAL_MS, without the signal coming down, takes all of it again, until the signal has
// become worse or was well in between.
//
// Level 1.5, looked at ten times a second: 0.88, 0.77, 0.68 and so on, 0.05 after two and a half seconds. If it is 1.5 still ten seconds later:
// 0.07, 0.09 and so on, 1 after five seconds.
//
// Invariant: LEAST <= value <= 1; at or below 1 a signal never lowers it.

/** With nothing admitted nothing would be learned. */
const LEAST = 0.05
/** What falls, falls by a trend. */
const WEIGHT = 0.1
/** In LOOK_MS; after a silence as much as it would have been meanwhile. */
const RISE = 0.02
const LOOK_MS = 100
/** So long at the least share, and the signal no lower than this share of what it was. */
const TRIAL_MS = 10_000
const NO_LOWER = 0.95
/** So much above what shedding did not help against is something new. */
const WORSE = 1.05

export class Share {
  /** 1 when nothing is wrong. */
  value = 1
  private lookedAt = Number.NaN
  /** The signal lately, on average. */
  private mean = 0
  /** Of the trial: since when, and what the signal was then. */
  private triedAt = Number.NaN
  private tried = 0
  /** A signal up to here does not come down by shedding; 0: that is not known. */
  private vain = 0

  look(level: number, now: number): void {
    const sinceMs = now - this.lookedAt
    this.lookedAt = now
    if (!(level > 1)) this.vain = 0
    if (level > Math.max(1, this.vain)) this.fall(level, now)
    else {
      this.triedAt = Number.NaN
      this.value = Math.min(1, this.value + RISE * (sinceMs > LOOK_MS ? sinceMs / LOOK_MS : 1))
    }
  }

  private fall(level: number, now: number): void {
    this.value = Math.max(LEAST, this.value * (1 - Math.min(0.2, 0.02 + 0.2 * (level - 1))))
    if (this.value > LEAST) return
    const isFirst = Number.isNaN(this.triedAt)
    this.mean = isFirst ? level : this.mean + (level - this.mean) * WEIGHT
    if (!isFirst && now - this.triedAt < TRIAL_MS) return
    // Where it helps, it is tried anew from there on.
    if (!isFirst && this.mean >= this.tried * NO_LOWER) this.vain = this.mean * WORSE
    this.triedAt = now
    this.tried = this.mean
  }
}
