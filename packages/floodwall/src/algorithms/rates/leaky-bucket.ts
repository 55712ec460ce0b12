import { GRAIN, missing, type Pace, type Reservable } from './rate.ts'

// How full is it, if it leaks at a steady rate?
//
// Source: Turner, "New Directions in Communications" (1986): the leaky bucket as a meter. A take pours its cost in; what would spill over is
// refused. It is the token bucket, seen from the other side: what is missing there lies here.
//
// 5/s, capacity 10: 10 at once fill it; 400 ms later 2 have leaked, and 2 more go in.
//
// Invariant: in any span t at most capacity + rate · t goes in; the level is never below 0.

export class LeakyBucket implements Reservable {
  readonly kind = 'leakyBucket'
  readonly most: number
  private readonly perMs: number
  private level = 0
  private at: number

  constructor({ rate, per }: Pace, capacity: number, now: number) {
    this.perMs = rate / per
    this.most = capacity
    this.at = now
  }

  private leak(now: number): void {
    if (!(now > this.at)) return
    this.level = Math.max(0, this.level - (now - this.at) * this.perMs)
    this.at = now
  }

  take(cost: number, now: number): number {
    return this.reserve(cost, now, 0)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    this.leak(now)
    const above = this.level + cost - this.most
    if (above <= GRAIN) {
      this.level += cost
      return 0
    }
    if (cost > this.most || this.perMs === 0) return Number.POSITIVE_INFINITY
    const waitMs = above / this.perMs
    if (waitMs <= atMostMs) this.level += cost
    return waitMs
  }

  give(cost: number, takenAt: number, now: number): void {
    this.leak(now)
    this.level = Math.max(0, this.level - missing(cost, this.at - takenAt, this.perMs))
  }

  left(now: number): number {
    this.leak(now)
    return this.most - this.level
  }

  idle(now: number): boolean {
    this.leak(now)
    return this.level === 0
  }
}
