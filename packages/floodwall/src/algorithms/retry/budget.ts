import { slotAt } from '../stats/slot.ts'
import type { TimeRing } from '../stats/time-ring.ts'
import { RetryHistogram } from './histogram.ts'

// May one more request be sent again?
//
// Source: the retry budget of "Site Reliability Engineering", ch. 21, and of Finagle: retries are a share of the requests of the last
// seconds, so that a dependency that is wholly down gets 1.1 times its load, not 3 times. A limit per request cannot do that.
//
// ratio 0.2, minimum 3: 100 requests fail together: 20 are tried again. 6 fail together: 3.
//
// Invariant: granted in a window <= max(minimum, ratio · requests of that window). A retry counts from when it is granted, its backoff
// included (envoy #30205), and the base is requests begun, so it does not vanish when they fail (envoy-mobile #811). What is given back
// leaves the bucket that it was granted in: counted later it would outlive its grant, and pay for a retry that nobody saved.

const BUCKETS = 10

export class RetryBudget {
  private readonly ratio: number
  private readonly minimum: number
  private readonly widthMs: number
  /** The requests of the window, by the number of the try; who sends again says so here. */
  readonly tries: RetryHistogram
  private readonly ring: TimeRing
  /** Grants per bucket; `slot` is the number of the current one. */
  private readonly grants: number[] = new Array<number>(BUCKETS).fill(0)
  private slot = 0

  constructor(ratio: number, minimum: number, overMs: number) {
    this.ratio = ratio
    this.minimum = minimum
    this.widthMs = overMs / BUCKETS
    this.tries = new RetryHistogram(overMs)
    this.ring = this.tries.ring
  }

  /** A request begins: first tries are never refused. */
  request(now: number): void {
    this.ring.count(0, now)
  }

  /** Takes the right to one retry; false when the budget is spent. */
  grant(now: number): boolean {
    if (this.spent(now) + 1 > this.allowed(now)) return false
    this.grants[this.slot % BUCKETS]!++
    return true
  }

  /** The retry that was granted at `grantedAt` was not sent after all (aborted while it waited). */
  giveBack(grantedAt: number, now: number): void {
    this.turn(now)
    const slot = slotAt(grantedAt, this.widthMs)
    if (slot > this.slot - BUCKETS) this.grants[slot % BUCKETS]!--
  }

  /** Retries granted in the window. */
  spent(now: number): number {
    this.turn(now)
    return this.grants.reduce((sum, n) => sum + n, 0)
  }

  /** Retries that the window allows in all. */
  allowed(now: number): number {
    // Ratio 0 means no retries at all, the minimum included.
    return this.ratio === 0 ? 0 : Math.max(this.minimum, this.ratio * this.ring.total(0, now))
  }

  private turn(now: number): void {
    const slot = slotAt(now, this.widthMs)
    for (let gap = Math.min(slot - this.slot, BUCKETS); gap > 0; gap--) this.grants[(slot - gap + 1) % BUCKETS] = 0
    if (slot > this.slot) this.slot = slot
  }
}
