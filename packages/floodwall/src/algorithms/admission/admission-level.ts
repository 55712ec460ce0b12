import { OPEN } from './level.ts'
import { COHORTS, LAST_PLACE } from './priority.ts'

// Where on the line of priorities is the cut, so that just enough is admitted?
//
// Source: DAGOR (Zhou et al., SoCC 2018) finds the cut in a histogram of recent priorities, in one step instead of by trial. How much is
// enough is corrected by a PI controller as in Uber's Cinnamon (2023). The proportional part: as many as were done lately, times a margin. The
// integral part: the margin grows while calls find room at once (the server could take more), and shrinks while all have to wait.
//
// 400 came in the window, spread evenly over `critical` (128 to 256), and 100 were done. Margin 1.2: 120 are to pass, which is 30 % of the
// class, so the level is 128 + 0.3 * 128 = 166.4.
//
// Invariant: 0 <= level <= 512; who stands further ahead is never refused by it where somebody behind is admitted by the same level.

/** What remains of a window in the next one. */
const KEPT = 0.6
/** This share of those admitted may find room at once. */
const AT_ONCE = 0.03
const GAIN = 0.5
/** Classes that come to less than this share of what is done, in sum; and from then on until they come to all of it: a window may be as few as 8 calls. */
const SPARED = 0.8
const STILL_SPARED = 1
const LEAST_MARGIN = 1.02
const MOST_MARGIN = 3
/** Before anything is known: enough that chance leaves no worker without work. */
const FIRST_MARGIN = 1.5

export class AdmissionLevel {
  /** Calls whose place is below it are admitted. */
  level: number = OPEN
  /** The classes from the first to this rank offer less together than is done: none of them has to be refused. -1: no class is known to. */
  sparedRank = -1
  private readonly counts = new Float64Array(LAST_PLACE)
  private offered = 0
  private done = 0
  private margin = FIRST_MARGIN

  /** A call has come, whatever becomes of it; it stands for so many, whose callers have sent the others nowhere. */
  offer(place: number, standsFor = 1): void {
    this.counts[place | 0]! += standsFor
    this.offered += standsFor
  }

  /**
   * A window has ended, in which so many calls were done, and of those admitted `atOnce` (0 to 1) found room at once. `share` (0 to 1) of what
   * is offered is the most that may pass.
   */
  adjust(done: number, atOnce: number, share: number): void {
    this.margin = Math.min(MOST_MARGIN, Math.max(LEAST_MARGIN, this.margin + GAIN * (atOnce - AT_ONCE)))
    this.done += done
    this.level = this.cut(Math.min(this.done * this.margin, this.offered * share))
    this.sparedRank = this.spared()
    const { counts } = this
    for (let i = 0; i < counts.length; i++) counts[i]! *= KEPT
    this.offered *= KEPT
    this.done *= KEPT
  }

  /** Everybody is admitted again, and nothing is remembered. */
  open(): void {
    this.level = OPEN
    this.sparedRank = -1
    this.counts.fill(0)
    this.offered = 0
    this.done = 0
    this.margin = FIRST_MARGIN
  }

  private spared(): number {
    const { counts } = this
    let offered = 0
    for (let rank = 0; rank * COHORTS < counts.length; rank++) {
      for (let place = rank * COHORTS; place < (rank + 1) * COHORTS; place++) offered += counts[place]!
      if (offered > this.done * (rank <= this.sparedRank ? STILL_SPARED : SPARED)) return rank - 1
    }
    return counts.length / COHORTS - 1
  }

  private cut(wanted: number): number {
    if (wanted >= this.offered) return OPEN
    const { counts } = this
    let left = wanted
    for (let place = 0; place < counts.length; place++) {
      const here = counts[place]!
      if (here > left) return place + left / here
      left -= here
    }
    return OPEN
  }
}
