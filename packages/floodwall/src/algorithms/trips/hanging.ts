import { slotAt } from '../stats/slot.ts'

// How many calls have been running for longer than the slow limit, and run still?
//
// Source: Sentinel #1405 and resilience4j #1597: a call is judged when it ends, so a target that answers nothing at all, to callers without a
// timeout, is never judged. Here calls are counted by when they began, in eighths of the limit; whose eighth lies a whole limit back is late.
// Nothing is kept of a single call but the number of its eighth, which its permit carries.
//
// Limit 800 ms, so eighths of 100 ms: a call that began at 130 ms is late from 1000 ms on (800 ms after its eighth was over), when it is
// 870 ms old. Late is said between 1 and 1.125 limits, never before: a call that would end in time is not suspected.
//
// Invariant: late + those on their way = those that began and have not ended. Costs the same however many there are, and however long nobody
// asked.

/** Eighths of the limit; twice as many have a place, so that the number of one is found by its last bits. */
const EIGHTHS = 8
const PLACES = 16
/** Serial numbers begin anew after this. A call would have to hang through 16 million eighths to be taken for a young one. */
const SERIALS = 1 << 24

export class Hanging {
  readonly limitMs: number
  private readonly widthMs: number
  /** On their way, by the eighth in which they began. */
  private readonly counts: number[] = Array.from({ length: PLACES }, () => 0)
  private lateNow = 0
  /** Of the current eighth, counted by the turns of this ring and not by the clock: small, so that a permit can carry it. */
  private serial = 0
  /** The same by the clock, and its end. */
  private slot = 0
  private until = 0

  constructor(limitMs: number) {
    this.limitMs = limitMs
    this.widthMs = limitMs / EIGHTHS
  }

  /** One begins: what {@link end} needs to know of it, a whole number below 2^24. */
  begin(now: number): number {
    if (now >= this.until) this.turn(now)
    this.counts[this.serial & (PLACES - 1)]! += 1
    return this.serial
  }

  /** One ends, however. */
  end(serial: number): void {
    const age = (this.serial - serial) & (SERIALS - 1)
    if (age > EIGHTHS) {
      if (this.lateNow > 0) this.lateNow--
      return
    }
    const place = serial & (PLACES - 1)
    if (this.counts[place]! > 0) this.counts[place]! -= 1
  }

  /** Those that hang. */
  late(now: number): number {
    if (now >= this.until) this.turn(now)
    return this.lateNow
  }

  /** Forgets everybody: nobody who has begun may be ended here any more. */
  clear(): void {
    this.counts.fill(0)
    this.lateNow = 0
  }

  private turn(now: number): void {
    const slot = slotAt(now, this.widthMs)
    // After an infinite `now` every later one would be a step back, and nobody would ever be late.
    if (slot === Number.POSITIVE_INFINITY) return
    const { counts } = this
    // After an idle month all are late, as after nine eighths.
    for (let gap = Math.min(slot - this.slot, EIGHTHS + 1); gap > 0; gap--) {
      this.serial = (this.serial + 1) & (SERIALS - 1)
      const leaving = (this.serial - EIGHTHS - 1) & (PLACES - 1)
      this.lateNow += counts[leaving]!
      counts[leaving] = 0
    }
    this.slot = slot
    this.until = (slot + 1) * this.widthMs
  }
}
