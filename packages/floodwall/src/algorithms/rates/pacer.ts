import { GRAIN, missing, type Pace, type Reservable } from './rate.ts'

// When is it this one's turn, if all come and go at a steady pace?
//
// Source: the leaky bucket as a queue (Turner 1986; Tanenbaum, "Computer Networks"). Who comes is told when to go, behind all who came before. A
// unit is worth its fraction of a millisecond, never rounded: a gap of whole milliseconds makes 1500/s to 1000/s and 2001/s to no limit.
//
// 1000/s, burst 1: three at once go after 0, 1 and 2 ms. One that costs 5000 goes after 4999 ms more: what idling saves is one burst, and
// ten minutes of it no more than one millisecond.
//
// Invariant: what goes at the times that were told is at most burst + rate · t in any span t; and who came later goes later.

export class Pacer implements Reservable {
  readonly kind = 'pacer'
  /** The burst: more than this never goes without a wait. */
  most = 0
  private perMs = 0
  /** Units that were promised and are not earned yet, less the burst; as in a token bucket, with its sign. */
  private owed: number
  private at: number

  constructor(pace: Pace, burst: number, now: number) {
    this.set(pace, burst)
    this.owed = -burst
    this.at = now
  }

  private set({ rate, per }: Pace, burst: number): void {
    this.perMs = rate / per
    this.most = burst
  }

  /** Another pace from `now` on; what was promised is owed at the new one. */
  reconfigure(pace: Pace, burst: number, now: number): void {
    this.earn(now)
    this.set(pace, burst)
    this.owed = Math.max(-burst, this.owed)
  }

  private earn(now: number): void {
    if (!(now > this.at)) return
    this.owed = Math.max(-this.most, this.owed - (now - this.at) * this.perMs)
    this.at = now
  }

  /** Milliseconds until `cost` could go; nothing is taken. Infinity at rate 0. */
  delay(cost: number, now: number): number {
    this.earn(now)
    const above = this.owed + cost
    return above <= GRAIN ? 0 : above / this.perMs
  }

  /** More than a burst is never there at once, and can only be reserved. */
  take(cost: number, now: number): number {
    const delayMs = this.reserve(cost, now, 0)
    return delayMs > 0 && cost > this.most ? Number.POSITIVE_INFINITY : delayMs
  }

  /** Also more than a burst at once, for those who wait long enough. */
  reserve(cost: number, now: number, atMostMs: number): number {
    const delayMs = this.delay(cost, now)
    if (delayMs <= atMostMs && delayMs !== Number.POSITIVE_INFINITY) this.owed += cost
    return delayMs
  }

  give(cost: number, takenAt: number, now: number): void {
    this.earn(now)
    const sinceMs = this.at - takenAt
    // Of one that costs more than a burst, a burst is missing when its time has come.
    const atOnce = sinceMs < 0 ? this.most - sinceMs * this.perMs : this.most
    this.owed = Math.max(-this.most, this.owed - missing(Math.min(cost, atOnce), sinceMs, this.perMs))
  }

  left(now: number): number {
    this.earn(now)
    return -this.owed
  }

  idle(now: number): boolean {
    this.earn(now)
    return this.owed <= -this.most
  }
}
