import { showMs } from '../../core/duration.ts'
import type { Verdict } from '../../core/outcome.ts'
import { CountRing } from '../stats/count-ring.ts'
import { TimeRing } from '../stats/time-ring.ts'
import { bucketsOf, type Memory, recallBuckets, recallResults, resultsOf } from './memory.ts'
import { percent, shareOf } from './share.ts'
import type { Trip } from './trip.ts'

// Did too large a share of the calls fail lately?
//
// Source: the failure-rate breaker of Hystrix and resilience4j, judged only with enough calls: 1 of 1 is not an outage. Those judge after
// every result. Here a success opens nothing: a window forgets old successes before it forgets an outage, so five seconds after a short
// outage the share of failures rises while every call succeeds, and the target that has just answered would be cut off.
//
// 20 calls, 12 bad, share 0.5, the last one bad: 12 / 20 >= 0.5, so the 20th result opens. Divided, not multiplied: 0.07 · 100 is 7.000000000000001, and
// 7 of 100 would not reach a limit of 7 %.
//
// Invariant: opens if and only if a failure comes and then calls >= atLeast and failures / calls >= share, over the window that ends now.

const CALLS = 0
const FAILURES = 1
const FAILED_BIT = 1

/** Over a span of time, in buckets. */
export class FailureRate implements Trip {
  private readonly share: number
  private readonly atLeast: number
  private readonly ring: TimeRing

  constructor(share: number, atLeast: number, overMs: number, buckets: number) {
    this.share = share
    this.atLeast = atLeast
    this.ring = new TimeRing(buckets, overMs / buckets, 2)
  }

  record(verdict: Verdict, _tookMs: number, now: number): boolean {
    const { ring } = this
    ring.count(CALLS, now)
    if (verdict === 'success') return false
    ring.count(FAILURES, now)
    const calls = ring.total(CALLS, now)
    return calls >= this.atLeast && ring.total(FAILURES, now) / calls >= this.share
  }

  reset(now: number): void {
    this.ring.clear(now)
  }

  value(now: number): number {
    return shareOf(this.ring.total(FAILURES, now), this.ring.total(CALLS, now))
  }

  limit(): number {
    return this.share
  }

  nearness(now: number): number {
    return Math.min(this.value(now) / this.share, this.ring.total(CALLS, now) / this.atLeast)
  }

  explain(now: number): string {
    return sentence(
      this.ring.total(FAILURES, now),
      this.ring.total(CALLS, now),
      this.share,
      `in the last ${showMs(this.ring.spanMs)}`,
    )
  }

  idle(now: number): boolean {
    return this.ring.total(CALLS, now) === 0
  }

  remember(now: number): Memory {
    return { buckets: bucketsOf(this.ring, now) }
  }

  recall({ buckets = [] }: Memory, ageMs: number, now: number): void {
    recallBuckets(this.ring, buckets, ageMs, now)
  }
}

/** Over the last calls, however long ago they were. */
export class FailureRateOfCalls implements Trip {
  private readonly share: number
  private readonly atLeast: number
  private readonly ring: CountRing

  constructor(share: number, atLeast: number, lastCalls: number) {
    this.share = share
    this.ring = new CountRing(lastCalls, 1)
    // A window that can never hold the minimum would never open.
    this.atLeast = Math.min(atLeast, lastCalls)
  }

  record(verdict: Verdict): boolean {
    const { ring } = this
    if (verdict === 'success') {
      ring.push(0)
      return false
    }
    ring.push(FAILED_BIT)
    return ring.calls >= this.atLeast && ring.total(0) / ring.calls >= this.share
  }

  reset(): void {
    this.ring.clear()
  }

  value(): number {
    return shareOf(this.ring.total(0), this.ring.calls)
  }

  limit(): number {
    return this.share
  }

  nearness(): number {
    return Math.min(this.value() / this.share, this.ring.calls / this.atLeast)
  }

  explain(): string {
    return sentence(this.ring.total(0), this.ring.calls, this.share, `of the last ${this.ring.size} calls`)
  }

  idle(): boolean {
    return this.ring.calls === 0
  }

  remember(): Memory {
    return { results: resultsOf(this.ring) }
  }

  recall({ results = [] }: Memory): void {
    for (const result of results) recallResults(this.ring, result)
  }
}

function sentence(failures: number, calls: number, limit: number, window: string): string {
  return `${failures} of ${calls} calls failed ${window} (${percent(shareOf(failures, calls))}, limit ${percent(limit)})`
}
