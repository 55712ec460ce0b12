import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { count, factor, positiveSpan, share, shareOrZero } from '../../core/schema.ts'
import { AnyTrip } from '../trips/any.ts'
import { Consecutive } from '../trips/consecutive.ts'
import { ErrorCost } from '../trips/error-cost.ts'
import { errorCostOptions } from '../trips/error-cost-options.ts'
import { FailureRate, FailureRateOfCalls } from '../trips/failure-rate.ts'
import type { Trip } from '../trips/trip.ts'

/** The options of a breaker. All are optional; the defaults are safe. */
export const breakerOptions = v.strictObject({
  /** Opens when this share of the calls failed. Default 0.5. */
  failureRate: v.optional(share, 0.5),
  /** The window of the failure rate, as a span. Default 10 s. */
  over: v.optional(positiveSpan, '10s'),
  /** The window's buckets: it moves by a bucket at a time. Default 10. */
  buckets: v.optional(v.pipe(count, v.maxValue(65_536, 'a whole number from 1 to 65536')), 10),
  /** The window of the failure rate, as a number of calls; replaces `over`. */
  lastCalls: v.optional(v.pipe(count, v.maxValue(16_777_216, 'a whole number from 1 to 16777216'))),
  /** No verdict with fewer calls in the window. Default 20. */
  atLeast: v.optional(count, 20),
  /** Opens by what the errors cost instead of how many they are; replaces the failure rate. Default: off (clusters turn it on). */
  errorCost: v.optional(errorCostOptions),
  /** Opens also after so many failures in a row, whatever the rate. Default: off. */
  consecutive: v.optional(count),
  /** An attempt that was given less time than this says nothing when it times out; one that was cancelled after it counts as failed. */
  slowAfter: v.optional(positiveSpan),
  /** How long it stays open the first time. Default 5 s. */
  openFor: v.optional(positiveSpan, '5s'),
  /** Each time that probes fail the open time grows by this factor. Default 2. */
  growth: v.optional(factor, 2),
  /** ... up to this. Default 60 s. */
  openAtMost: v.optional(positiveSpan, '60s'),
  /** Closed for so long, the open time starts small again. Default 60 s. */
  healthyAfter: v.optional(positiveSpan, '60s'),
  /** Lengthens the open time by a random share of up to this, so that a fleet does not probe in step. Default 0.1. */
  jitter: v.optional(shareOrZero, 0.1),
  /** Trial calls when half-open; the rest is refused until they have decided. Default 3. */
  probes: v.optional(count, 3),
  /** The share of failed probes that opens again. Default 0.5. */
  probeFailureRate: v.optional(share, 0.5),
  /** A probe that nobody reports on gives its slot back after this. Default 10 s. */
  probeLapse: v.optional(positiveSpan, '10s'),
})

/** What users write. */
export type BreakerOptions = v.InferInput<typeof breakerOptions>
/** The same with defaults filled in, spans in milliseconds. */
export type BreakerSettings = v.InferOutput<typeof breakerOptions>

/** The six states. `forcedOpen`, `disabled` and `metricsOnly` are entered and left by hand only. */
export const breakerStates = ['closed', 'open', 'halfOpen', 'forcedOpen', 'disabled', 'metricsOnly'] as const
export type BreakerState = (typeof breakerStates)[number]

export const breakerSnapshot = v.strictObject({
  ...snapshotOf('breaker'),
  state: v.picklist(breakerStates),
  /** Milliseconds in this state. */
  sinceMs: v.number(),
  /** Milliseconds until a probe is let through; 0 unless open. */
  probeInMs: v.number(),
  /** 0: nothing wrong; 1: it opens. */
  nearness: v.number(),
  opened: v.number(),
  why: v.string(),
  probes: v.strictObject({
    size: v.number(),
    free: v.number(),
    running: v.number(),
    good: v.number(),
    bad: v.number(),
  }),
})

/** The trip that these settings ask for. */
export function tripOf(settings: BreakerSettings): Trip {
  const { consecutive } = settings
  const main = mainTripOf(settings)
  return consecutive === undefined ? main : new AnyTrip([main, new Consecutive(consecutive)])
}

function mainTripOf({ failureRate, atLeast, over, buckets, lastCalls, errorCost }: BreakerSettings): Trip {
  if (errorCost !== undefined) return new ErrorCost(errorCost)
  if (lastCalls !== undefined) return new FailureRateOfCalls(failureRate, atLeast, lastCalls)
  return new FailureRate(failureRate, atLeast, over, buckets)
}

/** True when the two ask for the same trip: then a reload keeps what was counted. */
export function sameTrip(a: BreakerSettings, b: BreakerSettings): boolean {
  return tripText(a) === tripText(b)
}

/** What makes the trip; the settings are plain. */
function tripText({ over, buckets, lastCalls, consecutive, atLeast, failureRate, errorCost }: BreakerSettings): string {
  return JSON.stringify({ over, buckets, lastCalls, consecutive, atLeast, failureRate, errorCost })
}
