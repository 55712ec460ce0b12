import * as v from 'valibot'
import { count, parse, positiveSpan } from '../../core/schema.ts'
import type { BreakerOptions } from './breaker-settings.ts'
import { faultTogether, insteadOf, resilience4jEntries } from './resilience4j-options.ts'

// The breaker that somebody had elsewhere, from the options that he has written down there.
//
// Sources: resilience4j's CircuitBreakerConfig (commit af9e7c9), Hystrix's HystrixCommandProperties (commit 7c03baf). What they decide, our breaker
// decides by its own rules: see docs/from-resilience4j.md and docs/from-hystrix.md for the differences.
//
// hystrix(): of 20 calls in 10 s, the last of which failed, 10 failed: open for 5 s, then one probe.

/** Defaults there. */
const DEFAULT_WAIT_MS = 60_000
const DEFAULT_SLOW_MS = 60_000

const resilience4jOptions = v.pipe(
  v.strictObject({
    ...resilience4jEntries,
    initialState: insteadOf("nothing here: build it and call steer('forcedOpen') or the like"),
    transitionOnResult: insteadOf(
      "nothing here: call steer('open') where you see such a result, or use floodwall/compat/resilience4j",
    ),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { slowCallRateThreshold, slowCallDurationThreshold } = dataset.value
    // 60 s there. But here a timeout that gave its target less than what is called slow says nothing, and then hardly any would.
    if (slowCallRateThreshold < 100 && slowCallDurationThreshold === undefined)
      addIssue({ message: 'slowCallDurationThreshold with slowCallRateThreshold, at or below your timeouts' })
    const fault = faultTogether(dataset.value)
    if (fault !== undefined) addIssue({ message: fault })
  }),
)

export type Resilience4jPreset = v.InferInput<typeof resilience4jOptions>

/**
 * Options of a breaker from those of resilience4j's, names and defaults as there: 100 of the last 100 calls, 50 %, open for 60 s, 10 probes, no
 * jitter. Slow calls are looked at if `slowCallDurationThreshold` is given. Throws ConfigError for a name or value that has no meaning here, and
 * says what to use.
 */
function resilience4j(options: Resilience4jPreset = {}): BreakerOptions {
  const of = parse(resilience4jOptions, options, 'presets.resilience4j')
  const interval = of.waitIntervalFunctionInOpenState
  const slowAfter = of.slowCallDurationThreshold
  const size = of.slidingWindowSize
  return {
    failureRate: of.failureRateThreshold / 100,
    ...(slowAfter === undefined ? {} : { slowRate: of.slowCallRateThreshold / 100, slowAfter }),
    ...(of.slidingWindowType === 'COUNT_BASED' ? { lastCalls: size } : { over: size * 1000, buckets: size }),
    atLeast: of.minimumNumberOfCalls,
    // The middle of what it might draw: jitter is an option of its own here.
    openFor:
      interval === undefined ? (of.waitDurationInOpenState ?? DEFAULT_WAIT_MS) : (times) => interval(times, () => 0.5),
    growth: 1,
    jitter: 0,
    // There the count begins anew with every closing.
    healthyAfter: 1,
    eager: of.automaticTransitionFromOpenToHalfOpenEnabled,
    probes: of.permittedNumberOfCallsInHalfOpenState,
    probeFailureRate: of.failureRateThreshold / 100,
    // There a probe has all the time in the world. Here it has as much as makes every call a slow one there, or the next probes go out.
    probeLapse: Math.max(DEFAULT_SLOW_MS, slowAfter ?? 0),
    ...(of.maxWaitDurationInHalfOpenState === 0 ? {} : { halfOpenAtMost: of.maxWaitDurationInHalfOpenState }),
    halfOpenEnd: of.transitionToStateAfterWaitDuration === 'OPEN' ? 'open' : 'closed',
  }
}

const wholePercent = v.pipe(count, v.maxValue(100, 'a whole number from 1 to 100'))
const byTimeout = insteadOf('nothing here: put timeout({ after }) further in')
const byBulkhead = insteadOf('nothing here: put bulkhead({ slots }) further in, with queue() before it to wait')
const byFallback = insteadOf('nothing here: catch the RejectedError of the call')
const byHand = insteadOf("nothing here: call steer('forcedOpen') or steer('disabled') on the breaker")

const hystrixOptions = v.strictObject({
  /** No verdict with fewer calls in the window. Default 20. */
  'circuitBreaker.requestVolumeThreshold': v.optional(count, 20),
  /** How long it stays open. Default 5000. */
  'circuitBreaker.sleepWindowInMilliseconds': v.optional(positiveSpan, 5000),
  /** Percent of failed calls at which it opens. Default 50. */
  'circuitBreaker.errorThresholdPercentage': v.optional(wholePercent, 50),
  /** The window. Default 10000. */
  'metrics.rollingStats.timeInMilliseconds': v.optional(positiveSpan, 10_000),
  /** Its buckets. Default 10. */
  'metrics.rollingStats.numBuckets': v.optional(
    v.pipe(count, v.maxValue(65_536, 'a whole number from 1 to 65536')),
    10,
  ),

  'circuitBreaker.enabled': insteadOf("nothing here: leave the layer out, or call steer('disabled') on the breaker"),
  'circuitBreaker.forceOpen': byHand,
  'circuitBreaker.forceClosed': byHand,
  'metrics.healthSnapshot.intervalInMilliseconds': insteadOf('nothing here: it is judged at every failure'),
  'execution.timeout.enabled': byTimeout,
  'execution.isolation.thread.timeoutInMilliseconds': byTimeout,
  'execution.isolation.thread.interruptOnTimeout': byTimeout,
  'execution.isolation.strategy': byBulkhead,
  'execution.isolation.semaphore.maxConcurrentRequests': byBulkhead,
  coreSize: byBulkhead,
  maximumSize: byBulkhead,
  maxQueueSize: byBulkhead,
  queueSizeRejectionThreshold: byBulkhead,
  'fallback.enabled': byFallback,
  'fallback.isolation.semaphore.maxConcurrentRequests': byFallback,
})

export type HystrixPreset = v.InferInput<typeof hystrixOptions>

/**
 * Options of a breaker from those of a Hystrix command, names (what follows `hystrix.command.default.`) and defaults as there: 20 calls in 10 s,
 * 50 %, open for 5 s, one probe, no jitter. Throws ConfigError for a name or value that has no meaning here, and says what to use.
 */
function hystrix(options: HystrixPreset = {}): BreakerOptions {
  const of = parse(hystrixOptions, options, 'presets.hystrix')
  return {
    failureRate: of['circuitBreaker.errorThresholdPercentage'] / 100,
    over: of['metrics.rollingStats.timeInMilliseconds'],
    buckets: of['metrics.rollingStats.numBuckets'],
    atLeast: of['circuitBreaker.requestVolumeThreshold'],
    openFor: of['circuitBreaker.sleepWindowInMilliseconds'],
    growth: 1,
    jitter: 0,
    probes: 1,
    probeFailureRate: 1,
  }
}

/** Options for `breaker` from those of other libraries: `breaker(presets.hystrix())`. */
export const presets: {
  readonly resilience4j: typeof resilience4j
  readonly hystrix: typeof hystrix
} = { resilience4j, hystrix }
