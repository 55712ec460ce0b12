import { GRAIN, missing, type Pace, type Reservable, unitOf } from './rate.ts'

// How often, in one number?
//
// Source: the generic cell rate algorithm (virtual scheduling) of ITU-T I.371, annex A. The number is the time at which all that was taken
// would have been earned one by one. A take moves it on by its cost; it may be ahead of the clock by what the burst is worth.
//
// 10/s, burst 3: three at once, and the number is 300 ms ahead, the most that it may be. The next one can go in 100 ms.
//
// Invariant: as for the token bucket, at most burst + rate · t in any span t; both give the same answers.

/** Beyond this the number is told from a newer epoch: at 10^12 ms a double has steps of 0.1 µs, a tenth of the distance at 10^6/s. */
const EPOCH_MS = 1024

export class Gcra implements Reservable {
  readonly kind = 'gcra'
  readonly most: number
  /** Rate 0: there is a burst, and then nothing. The clock stands still. */
  private readonly frozen: boolean
  /** Milliseconds that one unit is worth. */
  private readonly unitMs: number
  /** How far ahead of the clock the number may be. */
  private readonly aheadMs: number
  private epoch: number
  /** Newest time, and the number: both from the epoch on. */
  private at = 0
  private paidAt = 0

  constructor(pace: Pace, burst: number, now: number) {
    this.most = burst
    const unitMs = unitOf(pace)
    this.frozen = unitMs === Number.POSITIVE_INFINITY
    this.unitMs = this.frozen ? 1 : unitMs
    this.aheadMs = burst * this.unitMs
    this.epoch = now
  }

  private move(now: number): void {
    if (this.frozen) return
    const at = now - this.epoch
    if (!(at > this.at)) return
    this.at = at
    if (this.paidAt < at) this.paidAt = at
    if (at > EPOCH_MS) this.newEpoch()
  }

  private newEpoch(): void {
    const shift = Math.floor(this.at)
    this.epoch += shift
    this.at -= shift
    this.paidAt -= shift
  }

  take(cost: number, now: number): number {
    return this.reserve(cost, now, 0)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    this.move(now)
    const price = cost * this.unitMs
    const waitMs = this.paidAt + price - this.at - this.aheadMs
    if (waitMs <= GRAIN * this.unitMs) {
      this.paidAt += price
      return 0
    }
    if (cost > this.most || this.frozen) return Number.POSITIVE_INFINITY
    if (waitMs <= atMostMs) this.paidAt += price
    return waitMs
  }

  give(cost: number, takenAt: number, now: number): void {
    this.move(now)
    const sinceMs = this.frozen ? 0 : this.at - (takenAt - this.epoch)
    this.paidAt = Math.max(this.at, this.paidAt - missing(cost * this.unitMs, sinceMs, 1))
  }

  left(now: number): number {
    this.move(now)
    return (this.aheadMs - (this.paidAt - this.at)) / this.unitMs
  }

  idle(now: number): boolean {
    this.move(now)
    return this.paidAt <= this.at
  }
}
