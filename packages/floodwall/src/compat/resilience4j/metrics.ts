import type { Resilience4jSettings, Resilience4jState } from './options.ts'
import {
  CALLS,
  CountWindow,
  FAILED,
  LockFreeTimeWindow,
  NO_WINDOW,
  type Resilience4jWindow,
  SLOW,
  SLOW_FAILED,
  TimeWindow,
} from './window.ts'

// Have enough calls failed, or been slow?
//
// A replica of resilience4j's CircuitBreakerMetrics: two rates over one window, as percents in floats of 32 bits. Slow is longer than the
// threshold, exceeded is at least the threshold, and with fewer calls than the minimum there is no rate (-1).
//
// 2 of 3 failed: 66.666664. A threshold of 66.66667 is 66.66667 as a float, and is not reached.

export const NOT_ENOUGH = -1
/** Bits of what `record` answers. */
export const FAILURE_RATE = 1
export const SLOW_RATE = 2

/** What a breaker shows of its window. */
export interface Resilience4jMetrics {
  /** Percent; -1: not enough calls. */
  readonly failureRate: number
  readonly slowCallRate: number
  readonly bufferedCalls: number
  readonly failedCalls: number
  readonly slowCalls: number
  readonly slowFailedCalls: number
  /** Refused since the window is this one. */
  readonly notPermittedCalls: number
}

type Thresholds = Pick<
  Resilience4jSettings,
  'failureRateThreshold' | 'slowCallRateThreshold' | 'slowCallDurationThreshold'
>

export class Metrics {
  notPermitted = 0
  private readonly window: Resilience4jWindow
  private readonly minimum: number
  private readonly failureRate: number
  private readonly slowRate: number
  private readonly slowMs: number

  constructor(window: Resilience4jWindow, minimum: number, thresholds: Thresholds) {
    this.window = window
    this.minimum = minimum
    this.failureRate = Math.fround(thresholds.failureRateThreshold)
    this.slowRate = Math.fround(thresholds.slowCallRateThreshold)
    this.slowMs = thresholds.slowCallDurationThreshold
  }

  /** The same window under other thresholds. */
  under(minimum: number, thresholds: Thresholds): Metrics {
    const metrics = new Metrics(this.window, minimum, thresholds)
    metrics.notPermitted = this.notPermitted
    return metrics
  }

  /** Counts a result: {@link NOT_ENOUGH}, 0 for below, or the rates that are reached. */
  record(failed: boolean, durationMs: number, now: number): number {
    this.window.record(failed, durationMs > this.slowMs, durationMs, now)
    const calls = this.window.total(CALLS, now)
    if (calls === 0 || calls < this.minimum) return NOT_ENOUGH
    const failure = this.rate(FAILED, now) >= this.failureRate ? FAILURE_RATE : 0
    return failure | (this.rate(SLOW, now) >= this.slowRate ? SLOW_RATE : 0)
  }

  calls(now: number): number {
    return this.window.total(CALLS, now)
  }

  /** In percent, of {@link FAILED} or {@link SLOW} calls; -1: not enough. */
  rate(lane: number, now: number): number {
    const calls = this.window.total(CALLS, now)
    if (calls === 0 || calls < this.minimum) return NOT_ENOUGH
    return Math.fround(Math.fround(this.window.total(lane, now) * 100) / calls)
  }

  /** The counts in words. */
  explain(now: number): string {
    const { window } = this
    return `${window.total(FAILED, now)} of ${window.total(CALLS, now)} calls failed, ${window.total(SLOW, now)} were slow`
  }

  read(now: number): Resilience4jMetrics {
    const { window } = this
    return {
      failureRate: this.rate(FAILED, now),
      slowCallRate: this.rate(SLOW, now),
      bufferedCalls: window.total(CALLS, now),
      failedCalls: window.total(FAILED, now),
      slowCalls: window.total(SLOW, now),
      slowFailedCalls: window.total(SLOW_FAILED, now),
      notPermittedCalls: this.notPermitted,
    }
  }
}

/** What a state counts in: its own window, whatever was before. (OPEN has none of its own.) */
export function metricsOf(state: Resilience4jState, settings: Resilience4jSettings, now: number): Metrics {
  const permitted = settings.permittedNumberOfCallsInHalfOpenState
  if (state === 'HALF_OPEN')
    return new Metrics(new CountWindow(permitted), Math.min(settings.minimumNumberOfCalls, permitted), settings)
  if (state === 'CLOSED' || state === 'METRICS_ONLY')
    return new Metrics(windowOf(settings, now), minimumOf(settings), settings)
  return new Metrics(NO_WINDOW, 0, settings)
}

function windowOf(settings: Resilience4jSettings, now: number): Resilience4jWindow {
  const { slidingWindowType, slidingWindowSize: size, slidingWindowSynchronizationStrategy: strategy } = settings
  if (slidingWindowType === 'COUNT_BASED') return new CountWindow(size)
  return strategy === 'LOCK_FREE' ? new LockFreeTimeWindow(size, now) : new TimeWindow(size, settings.epochMs)
}

/** Capped to what a window of calls can hold. */
export function minimumOf(settings: Resilience4jSettings): number {
  const { slidingWindowType, slidingWindowSize, minimumNumberOfCalls } = settings
  return slidingWindowType === 'COUNT_BASED' ? Math.min(minimumNumberOfCalls, slidingWindowSize) : minimumNumberOfCalls
}

/** True when results counted under `a` are as good under `b`. */
export function sameWindow(a: Resilience4jSettings, b: Resilience4jSettings): boolean {
  return (
    a.slidingWindowType === b.slidingWindowType &&
    a.slidingWindowSize === b.slidingWindowSize &&
    a.slidingWindowSynchronizationStrategy === b.slidingWindowSynchronizationStrategy &&
    a.epochMs === b.epochMs
  )
}
