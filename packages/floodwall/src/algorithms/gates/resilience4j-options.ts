import * as v from 'valibot'
import { count, oneOf, positiveSpan, spanOrZero } from '../../core/schema.ts'

// The options of resilience4j's circuit breaker under their own names, for the preset and for the replica. Rates are percents there, and the
// size of a time window is in seconds.

const percent = v.custom<number>(
  (n) => typeof n === 'number' && n > 0 && n <= 100,
  'a percentage above 0 and at most 100 (50 is 50 %)',
)

/** Milliseconds of the `attempt`-th opening in a row, from 1; `random` is uniform in [0, 1). */
const interval = v.custom<(attempt: number, random: () => number) => number>(
  (given) => typeof given === 'function',
  'a function from the attempt (1, 2, ...) to milliseconds',
)

/** An option that exists elsewhere and not here: whoever copies it over is told what to use. */
export function insteadOf(advice: string): v.OptionalSchema<v.GenericSchema<undefined>, undefined> {
  return v.optional(
    v.custom<undefined>(() => false, advice),
    undefined,
  )
}

const byClassifier = insteadOf(
  'nothing here: a gate sees verdicts, not errors; use pipeline(name, layers, { classify }), for example with resilience4jClassify of floodwall/compat/resilience4j',
)
const byRuntime = insteadOf("nothing here: time comes from the pipeline's runtime; in tests that is a VirtualRuntime")

export const resilience4jEntries = {
  /** Opens when this percentage of the calls failed. Default 50. */
  failureRateThreshold: v.optional(percent, 50),
  /** Opens when this percentage of the calls was slow. Default 100. */
  slowCallRateThreshold: v.optional(percent, 100),
  /** What is slow: longer than this. */
  slowCallDurationThreshold: v.optional(positiveSpan),
  /** Default `COUNT_BASED`. */
  slidingWindowType: v.optional(oneOf('COUNT_BASED', 'TIME_BASED'), 'COUNT_BASED'),
  /** In calls, or in seconds. Default 100. */
  slidingWindowSize: v.optional(count, 100),
  /** How its threads share a window; there it also decides where the seconds of a time window begin. Default `SYNCHRONIZED`. */
  slidingWindowSynchronizationStrategy: v.optional(oneOf('SYNCHRONIZED', 'LOCK_FREE'), 'SYNCHRONIZED'),
  /** No verdict with fewer calls in the window. Default 100. */
  minimumNumberOfCalls: v.optional(count, 100),
  /** Default 60 s. Either this or the function. */
  waitDurationInOpenState: v.optional(positiveSpan),
  /** The same, by how often it has opened in a row. */
  waitIntervalFunctionInOpenState: v.optional(interval),
  /** Default 10. */
  permittedNumberOfCallsInHalfOpenState: v.optional(
    v.pipe(count, v.maxValue(1_000_000, 'a whole number from 1 to 1000000')),
    10,
  ),
  /** The longest half-open state; 0: no limit. Default 0. */
  maxWaitDurationInHalfOpenState: v.optional(spanOrZero, 0),
  /** ... and what comes after it. Default `OPEN`. */
  transitionToStateAfterWaitDuration: v.optional(oneOf('OPEN', 'CLOSED'), 'OPEN'),
  /** Half-open as soon as the wait is over, and not only at the next call. Default false. */
  automaticTransitionFromOpenToHalfOpenEnabled: v.optional(v.boolean('true or false'), false),

  recordException: byClassifier,
  recordExceptions: byClassifier,
  ignoreException: byClassifier,
  ignoreExceptions: byClassifier,
  ignoreExceptionsPrecedenceEnabled: byClassifier,
  recordResult: byClassifier,
  writableStackTraceEnabled: insteadOf('nothing here: a refusal never has a stack'),
  clock: byRuntime,
  currentTimestampFunction: byRuntime,
}

/** A byte for each call, and five sums for each second. */
const MOST_CALLS = 16_777_216
const MOST_SECONDS = 65_536

interface Together {
  readonly slidingWindowType: 'COUNT_BASED' | 'TIME_BASED'
  readonly slidingWindowSize: number
  readonly waitDurationInOpenState?: number | undefined
  readonly waitIntervalFunctionInOpenState?: unknown
}

/** What no option can say alone: the first fault, or undefined. */
export function faultTogether(given: Together): string | undefined {
  if (given.waitDurationInOpenState !== undefined && given.waitIntervalFunctionInOpenState !== undefined)
    return 'waitDurationInOpenState or waitIntervalFunctionInOpenState, not both'
  const most = given.slidingWindowType === 'COUNT_BASED' ? MOST_CALLS : MOST_SECONDS
  if (given.slidingWindowSize > most) return `slidingWindowSize of at most ${most}`
  return undefined
}
