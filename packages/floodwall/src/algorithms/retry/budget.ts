import { TimeRing } from '../stats/time-ring.ts'

// May one more request be sent again?
//
// Source: the retry budget of "Site Reliability Engineering", ch. 21, and of Finagle: retries are a share of the requests of the last
// seconds, so that a dependency that is wholly down gets 1.1 times its load, not 3 times. A limit per request cannot do that.
//
// ratio 0.2, minimum 3: 100 requests fail together: 20 are tried again. 6 fail together: 3.
//
// Invariant: granted in a window <= max(minimum, ratio · requests of that window). A retry counts from when it is granted, its backoff
// included (envoy #30205), and the base is requests begun, so it does not vanish when they fail (envoy-mobile #811).

const REQUESTS = 0
const GRANTED = 1
const RETURNED = 2
const BUCKETS = 10

export class RetryBudget {
  private readonly ratio: number
  private readonly minimum: number
  private readonly ring: TimeRing

  constructor(ratio: number, minimum: number, overMs: number) {
    this.ratio = ratio
    this.minimum = minimum
    this.ring = new TimeRing(BUCKETS, overMs / BUCKETS, 3)
  }

  /** A request begins: first tries are never refused. */
  request(now: number): void {
    this.ring.add(REQUESTS, 1, now)
  }

  /** Takes the right to one retry; false when the budget is spent. */
  grant(now: number): boolean {
    if (this.spent(now) + 1 > this.allowed(now)) return false
    this.ring.add(GRANTED, 1, now)
    return true
  }

  /** The retry was not sent after all (aborted while it waited). */
  giveBack(now: number): void {
    this.ring.add(RETURNED, 1, now)
  }

  /** Retries granted in the window. */
  spent(now: number): number {
    return Math.max(0, this.ring.total(GRANTED, now) - this.ring.total(RETURNED, now))
  }

  /** Retries that the window allows in all. */
  allowed(now: number): number {
    // Ratio 0 means no retries at all, the minimum included.
    return this.ratio === 0 ? 0 : Math.max(this.minimum, this.ratio * this.ring.total(REQUESTS, now))
  }
}
