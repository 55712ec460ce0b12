import { showMs } from '../../core/duration.ts'
import type { Verdict } from '../../core/outcome.ts'
import type { Hanging } from './hanging.ts'
import type { Memory } from './memory.ts'
import type { Results } from './results.ts'
import { percent, shareOf } from './share.ts'
import type { Trip } from './trip.ts'

// Did too many of the calls of late fail, or take too long?
//
// Source: the strategies of Sentinel (slow ratio, error ratio, error count) and the two rates of resilience4j, over one window. Those judge after
// every result. Here each condition is judged when a call counts towards it: a target that answers in time is not cut off because older
// successes have left the window (see failure-rate.ts). And calls that hang count as slow while they do, since a target that never answers
// never has a result.
//
// atLeast 20, slowRate 0.5, slowAfter 250 ms: 12 fast calls, then nothing comes back. When 8 hang for longer than 250 ms, 8 of 20 are slow; when 12
// do, 12 of 24, and it opens. When one of them ends it leaves the hanging and enters the window: 12 of 24 as before.
//
// Invariant: opens if and only if calls >= atLeast and, at a failure, failures / calls >= failureRate or failures >= errorCount, or, at a slow
// call or while one hangs, slow / calls >= slowRate. For the last one, both slow and calls include those that hang.

export interface RateLimits {
  readonly failureRate: number | undefined
  readonly errorCount: number | undefined
  readonly slowRate: number | undefined
  readonly slowAfterMs: number
  readonly atLeast: number
}

/** One condition as it stands. */
interface Condition {
  readonly value: number
  readonly limit: number
  words(): string
}

export class Rates implements Trip {
  private readonly results: Results
  private readonly hanging: Hanging | null
  private readonly atLeast: number
  // A condition that nobody asked for has a limit that nothing reaches.
  private readonly failureRate: number
  private readonly errorCount: number
  private readonly slowRate: number
  private readonly slowAfterMs: number

  constructor(results: Results, limits: RateLimits, hanging: Hanging | null = null) {
    this.results = results
    this.hanging = hanging
    this.atLeast = limits.atLeast
    this.failureRate = limits.failureRate ?? Number.POSITIVE_INFINITY
    this.errorCount = limits.errorCount ?? Number.POSITIVE_INFINITY
    this.slowRate = limits.slowRate ?? Number.POSITIVE_INFINITY
    this.slowAfterMs = limits.slowRate === undefined ? Number.POSITIVE_INFINITY : limits.slowAfterMs
  }

  record(verdict: Verdict, tookMs: number, now: number): boolean {
    const failed = verdict !== 'success'
    const slow = isSlow(verdict, tookMs, this.slowAfterMs)
    this.results.add(failed, slow, now)
    if (failed && this.failing(now)) return true
    return slow ? this.slowing(now) : this.hangs(now)
  }

  private failing(now: number): boolean {
    const calls = this.results.calls(now)
    if (calls < this.atLeast) return false
    const failures = this.results.failures(now)
    return failures / calls >= this.failureRate || failures >= this.errorCount
  }

  private slowing(now: number): boolean {
    const late = this.late(now)
    const calls = this.results.calls(now) + late
    return calls >= this.atLeast && (this.results.slow(now) + late) / calls >= this.slowRate
  }

  /** So many calls hang that it opens, without waiting for one to end. */
  hangs(now: number): boolean {
    return this.late(now) > 0 && this.slowing(now)
  }

  /** Calls that hang. */
  late(now: number): number {
    return this.hanging === null ? 0 : this.hanging.late(now)
  }

  /** Of all calls, those that hang included; 0 without calls. */
  slowShare(now: number): number {
    const late = this.late(now)
    return shareOf(this.results.slow(now) + late, this.results.calls(now) + late)
  }

  reset(now: number): void {
    this.results.clear(now)
    this.hanging?.clear()
  }

  /** The condition that is nearest to its limit. */
  private nearest(now: number): Condition {
    return this.conditions(now).reduce((a, b) => (b.value / b.limit > a.value / a.limit ? b : a))
  }

  value(now: number): number {
    return this.nearest(now).value
  }

  limit(now: number): number {
    return this.nearest(now).limit
  }

  /** Clusters ask with each choice: nothing is made for it. */
  nearness(now: number): number {
    const { results } = this
    const calls = results.calls(now)
    const failures = results.failures(now)
    const nearest = Math.max(
      shareOf(failures, calls) / this.failureRate,
      failures / this.errorCount,
      this.slowShare(now) / this.slowRate,
    )
    return Math.min(nearest, (calls + this.late(now)) / this.atLeast)
  }

  /** All conditions that are met; if none is, the nearest. */
  explain(now: number): string {
    const met = this.conditions(now).filter(({ value, limit }) => value >= limit)
    return (met.length > 0 ? met : [this.nearest(now)]).map((condition) => condition.words()).join(' and ')
  }

  idle(now: number): boolean {
    return this.results.calls(now) === 0
  }

  remember(now: number): Memory {
    return this.results.remember(now)
  }

  recall(memory: Memory, ageMs: number, now: number): void {
    this.results.recall(memory, ageMs, now)
  }

  private conditions(now: number): Condition[] {
    const { results, failureRate, errorCount, slowRate } = this
    const found: Condition[] = []
    const calls = results.calls(now)
    const failures = results.failures(now)
    if (failureRate <= 1) {
      const value = shareOf(failures, calls)
      const words = () =>
        `${failures} of ${calls} calls failed ${results.words} (${percent(value)}, limit ${percent(failureRate)})`
      found.push({ value, limit: failureRate, words })
    }
    if (errorCount < Number.POSITIVE_INFINITY) {
      const words = () => `${failures} calls failed ${results.words} (limit ${errorCount})`
      found.push({ value: failures, limit: errorCount, words })
    }
    if (slowRate <= 1) {
      const value = this.slowShare(now)
      const late = this.late(now)
      const slow = results.slow(now) + late
      const running = late === 0 ? '' : `, ${late} of them still running`
      const words = () =>
        `${slow} of ${calls + late} calls took longer than ${showMs(this.slowAfterMs)} ` +
        `${results.words}${running} (${percent(value)}, limit ${percent(slowRate)})`
      found.push({ value, limit: slowRate, words })
    }
    return found
  }
}

/** Who got no answer at all within the limit would have waited for longer. */
export function isSlow(verdict: Verdict, tookMs: number, slowAfterMs: number): boolean {
  return verdict === 'timeout' ? tookMs >= slowAfterMs : tookMs > slowAfterMs
}
