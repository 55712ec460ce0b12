import { GRAIN, missing, type Pace } from './rate.ts'

// How many tokens are there now?
//
// What a bucket counts, apart from who asks. The gate on the way of every call is one of these itself: an object between the two was half a
// nanosecond.
//
// Invariant: tokens never pass the burst; a time before the newest one neither earns nor costs.

export class Tokens {
  /** @internal */ perMs = 0
  /** The burst. */
  most = 0
  /** @internal Below 0: promised, or owed. */ tokens: number
  /** @internal The newest time. */ at: number
  /** Before this it earned at another rate. */
  private since = Number.NEGATIVE_INFINITY

  constructor(pace: Pace, burst: number, now: number) {
    this.set(pace, burst)
    this.tokens = burst
    this.at = now
  }

  private set({ rate, per }: Pace, burst: number): void {
    this.perMs = rate / per
    this.most = burst
  }

  /** @internal Another pace from `now` on, same tokens: the time before it earned at the old one. */
  repace(pace: Pace, burst: number, now: number): void {
    this.earn(now)
    const before = this.perMs
    this.set(pace, burst)
    if (this.perMs !== before) this.since = this.at
    this.tokens = Math.min(this.tokens, burst)
  }

  /** @internal Takes `cost`, or says false and takes nothing. */
  takes(cost: number, now: number): boolean {
    this.earn(now)
    if (this.tokens + GRAIN < cost) return false
    this.tokens -= cost
    return true
  }

  /** @internal Milliseconds from the newest time until there are tokens for `cost`; Infinity: never. */
  waitFor(cost: number): number {
    return cost > this.most ? Number.POSITIVE_INFINITY : (cost - this.tokens) / this.perMs
  }

  /** Gives back what was taken and not used. What was taken at another rate may have been earned since, however little this one earns. */
  give(cost: number, takenAt: number, now: number): void {
    this.earn(now)
    if (takenAt < this.since) return
    this.tokens = Math.min(this.most, this.tokens + missing(cost, this.at - takenAt, this.perMs))
  }

  /** @internal What was taken as `estimate` has cost `actual`. Never below minus one burst: one wild call must not silence its caller for ever. */
  correct(estimate: number, actual: number, now: number): void {
    this.earn(now)
    this.tokens = Math.max(-this.most, Math.min(this.most, this.tokens + estimate - actual))
  }

  private earn(now: number): void {
    if (!(now > this.at)) return
    this.tokens = Math.min(this.most, this.tokens + (now - this.at) * this.perMs)
    this.at = now
  }

  /** What could be taken now at once; below 0 while a debt is paid off. */
  left(now: number): number {
    this.earn(now)
    return this.tokens
  }

  idle(now: number): boolean {
    return this.left(now) >= this.most
  }
}
