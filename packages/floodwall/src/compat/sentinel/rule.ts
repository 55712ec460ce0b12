import * as v from 'valibot'
import { countOrZero } from '../../core/schema.ts'

// When would Sentinel's circuit breaker open? The fields of a rule of alibaba/sentinel-golang (commit f7a7f957), by their names there.

/** Sentinel's three strategies: the index is the number that stands in JSON. */
export const strategies = ['SlowRequestRatio', 'ErrorRatio', 'ErrorCount'] as const
export type SentinelStrategy = (typeof strategies)[number]

/** By number or by name; read as the name. */
export const strategy: v.GenericSchema<number | string, SentinelStrategy> = v.pipe(
  v.custom<number | string>(
    (given) => strategies.some((name, number) => given === name || given === number),
    '0, 1 or 2 (SlowRequestRatio, ErrorRatio, ErrorCount)',
  ),
  v.transform((given) => (typeof given === 'number' ? strategies[given] : given) as SentinelStrategy),
)

/** A uint32 in Sentinel. */
export const milliseconds: v.GenericSchema<number, number> = v.custom<number>(
  (n) => Number.isInteger(n) && Number(n) >= 0 && Number(n) < 4_294_967_296,
  'whole milliseconds from 0 to 4294967295',
)
const finite = v.custom<number>((n) => typeof n === 'number' && Number.isFinite(n), 'a number')

/** A rule; what is not said is 0, as in Go. */
export const sentinelRule = v.strictObject({
  /** Names the breaker in refusals and events. Default: its place among the rules of its resource, from 1. */
  id: v.optional(v.string(), ''),
  resource: v.string(),
  strategy: v.optional(strategy, 0),
  /** So long it refuses everything. */
  retryTimeoutMs: v.optional(milliseconds, 0),
  /** The silent period: with fewer calls in the window nothing opens. */
  minRequestAmount: v.optional(countOrZero, 0),
  statIntervalMs: v.optional(milliseconds, 0),
  /** 0, and what does not divide the interval, are one bucket: a window that forgets everything at each multiple of the interval. */
  statSlidingWindowBucketCount: v.optional(
    v.pipe(countOrZero, v.maxValue(65_536, 'a whole number from 0 to 65536')),
    0,
  ),
  /** SlowRequestRatio alone: slow means longer than this. */
  maxAllowedRtMs: v.optional(countOrZero, 0),
  /** A share from 0 to 1; for ErrorCount a number of errors, cut to a whole one. */
  threshold: v.optional(finite, 0),
  /** Good probes that close it; 0 is one, and the only number with which others wait for it. */
  probeNum: v.optional(countOrZero, 0),
})

/** What users write: Sentinel's own JSON. */
export type SentinelRule = v.InferInput<typeof sentinelRule>
/** The same with what was not said, and the strategy by its name. */
export type SentinelRuleValues = v.InferOutput<typeof sentinelRule>

/** What Sentinel loads. The load for one resource loads the rest as well. */
export function isValid({
  resource,
  strategy,
  retryTimeoutMs,
  statIntervalMs,
  threshold,
}: SentinelRuleValues): boolean {
  if (resource === '' || statIntervalMs === 0 || retryTimeoutMs === 0 || threshold < 0) return false
  return strategy === 'ErrorCount' || threshold <= 1
}

/** As near as this two doubles are one to Sentinel. */
export const EPSILON = 1e-8

/** The breaker of `a` may count on in the window of `b`. */
export function sameStatistics(a: SentinelRuleValues, b: SentinelRuleValues): boolean {
  return (
    a.resource === b.resource &&
    a.strategy === b.strategy &&
    a.statIntervalMs === b.statIntervalMs &&
    a.statSlidingWindowBucketCount === b.statSlidingWindowBucketCount
  )
}

/** The breaker of `a` may stand for `b`: all but the id, and but the slow limit of those who do not look at it. */
export function sameBreaker(a: SentinelRuleValues, b: SentinelRuleValues): boolean {
  return (
    sameStatistics(a, b) &&
    a.retryTimeoutMs === b.retryTimeoutMs &&
    a.minRequestAmount === b.minRequestAmount &&
    a.probeNum === b.probeNum &&
    Math.abs(a.threshold - b.threshold) < EPSILON &&
    (a.strategy !== 'SlowRequestRatio' || a.maxAllowedRtMs === b.maxAllowedRtMs)
  )
}
