import { Ewma } from '../stats/ewma.ts'

// Does more come than goes, and how fast does it go?
//
// Source: Page, "Continuous Inspection Schemes" (1954): a sum that rises with each sign for a change, falls with each against it, and is never
// below 0, finds a change as fast as can be for so few false alarms. One comes: +1. One goes: -1.2, so that at nine tenths of what can be
// done the sum falls, and at one and a half times it rises. One who need not wait shows that there was a slot for somebody more: -1.2, too.
// Little, "A Proof for the Queuing Formula L = λW" (1961): who has n before him waits n times the mean time from one who goes to the next.
//
// 800 come a second, 200 can go: +1 - 0.24 for each, so that after 27 arrivals, 33 ms, the sum is above 20. At 180 it stays near 0 for days,
// also where chance lets twenty wait now and then. One goes each 5 ms: who comes when 40 wait, waits 200 ms.
//
// Invariant: the sum is from 0 to 40, so that the end of an overload is seen as fast as its beginning; the pace is measured between two who
// went out of one line, so that it knows no idle time.

/** Weight of the newest gap: the last fifty count. */
const NEWEST = 0.02
/** What one who goes stands for: more than one, so that a load below five sixths of an overload by 1.2 is never taken for one. */
const GOES = 1.2
/** Above it, more comes than goes: at a load of 0.9 once in hours, at 1.5 within 60 that go, at 4 within 30 that come. */
const ALARM = 20

export class Backlog {
  private readonly gaps = new Ewma(NEWEST)
  private wentAt = Number.NaN
  private sum = 0
  /** Since when the line was not empty, and the sum not 0. */
  private lineSince = Number.POSITIVE_INFINITY
  private sumSince = Number.POSITIVE_INFINITY

  /** Somebody comes who has to wait; `first`: nobody else waits. */
  came(first: boolean, now: number): void {
    if (first) {
      this.lineSince = now
      this.wentAt = Number.NaN
    }
    if (this.sum === 0) this.sumSince = now
    if (this.sum < 2 * ALARM) this.sum++
  }

  /** One of those who waited goes. */
  went(now: number): void {
    if (now >= this.wentAt) this.gaps.record(now - this.wentAt)
    this.wentAt = now
    this.fall()
  }

  /** Somebody came and did not have to wait. */
  passed(): void {
    if (this.sum > 0) this.fall()
  }

  private fall(): void {
    this.sum = this.sum > GOES ? this.sum - GOES : 0
  }

  /** Nobody waits any more. */
  end(): void {
    this.lineSince = Number.POSITIVE_INFINITY
  }

  /** For how long the line has not been empty. */
  ageMs(now: number): number {
    return Math.max(0, now - this.lineSince)
  }

  /** For how long more has come than went; 0 while it has not. */
  excessMs(now: number): number {
    return this.sum > ALARM ? Math.max(0, now - this.sumSince) : 0
  }

  /** From one who goes to the next, in milliseconds; 0 while nothing is known. */
  get paceMs(): number {
    return this.gaps.value
  }
}
