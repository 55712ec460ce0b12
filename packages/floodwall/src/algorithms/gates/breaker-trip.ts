import { AnyTrip } from '../trips/any.ts'
import { Consecutive } from '../trips/consecutive.ts'
import { ErrorCost } from '../trips/error-cost.ts'
import { FailureRate, FailureRateOfCalls } from '../trips/failure-rate.ts'
import { Hanging } from '../trips/hanging.ts'
import { Rates } from '../trips/rates.ts'
import { ResultsOfCalls, ResultsOfSpan } from '../trips/results.ts'
import type { Trip } from '../trips/trip.ts'
import { Watched } from '../trips/watched.ts'
import type { BreakerSettings } from './breaker-settings.ts'

// Which conditions open this breaker?
//
// Those of the window look at one window; any of them opens. What errors cost takes the place of their rate, and `consecutive` comes on top.
//
// { slowRate: 0.5, slowAfter: '250ms' }: slow calls only. With failureRate: 0.5 beside it: either.
//
// Invariant: at least one condition, since the settings always name one.

/** The trip that these settings ask for; a {@link Watched} one where calls that hang count. */
export function tripOf(settings: BreakerSettings): Trip {
  const { errorCost, consecutive, slowRate, slowAfter } = settings
  const trips: Trip[] = []
  if (errorCost !== undefined) trips.push(new ErrorCost(errorCost))
  const hanging = slowRate === undefined || slowAfter === undefined ? null : new Hanging(slowAfter)
  const rates = ratesOf(settings, hanging)
  if (rates !== undefined) trips.push(rates)
  if (consecutive !== undefined) trips.push(new Consecutive(consecutive))
  const all = trips.length === 1 ? (trips[0] as Trip) : new AnyTrip(trips)
  return hanging === null ? all : new Watched(all, rates as Rates, hanging)
}

function ratesOf(settings: BreakerSettings, hanging: Hanging | null): Trip | undefined {
  const { errorCount, slowRate, slowAfter = Number.POSITIVE_INFINITY, over, buckets, lastCalls, atLeast } = settings
  const failureRate = settings.errorCost === undefined ? settings.failureRate : undefined
  if (errorCount === undefined && slowRate === undefined) {
    if (failureRate === undefined) return undefined
    // The common case counts nothing else.
    return lastCalls === undefined
      ? new FailureRate(failureRate, atLeast, over, buckets)
      : new FailureRateOfCalls(failureRate, atLeast, lastCalls)
  }
  const results = lastCalls === undefined ? new ResultsOfSpan(over, buckets) : new ResultsOfCalls(lastCalls)
  return new Rates(
    results,
    {
      failureRate,
      errorCount,
      slowRate,
      slowAfterMs: slowAfter,
      // A window that can never hold the minimum would never open.
      atLeast: Math.min(atLeast, lastCalls ?? Number.POSITIVE_INFINITY),
    },
    hanging,
  )
}

/** True when the two ask for the same trip: then a reload keeps what was counted. */
export function sameTrip(a: BreakerSettings, b: BreakerSettings): boolean {
  return tripText(a) === tripText(b)
}

/** What makes the trip; these settings are plain. */
function tripText(settings: BreakerSettings): string {
  const { over, buckets, lastCalls, consecutive, atLeast, failureRate, errorCount, slowRate, errorCost } = settings
  const slowAfter = slowRate === undefined ? undefined : settings.slowAfter
  return JSON.stringify({
    over,
    buckets,
    lastCalls,
    consecutive,
    atLeast,
    failureRate,
    errorCount,
    slowRate,
    slowAfter,
    errorCost,
  })
}
