import * as v from 'valibot'
import { type Duration, toMs } from '../../core/duration.ts'
import { parse } from '../../core/schema.ts'

// How long does the next try wait, as resilience4j would say?
//
// A replica of its IntervalFunction: constant, exponential, and either of them randomized. Whole milliseconds, cut after every step.
//
// 500 ms times 1.5: 500, 750, 1125, 1687 (not 1687.5), 2530. Randomized by 0.5, 500 ms and a draw of 0.1: 250 + 0.1 · 501 = 300.
//
// Invariant: given the same attempt and draw, the milliseconds are those of resilience4j. With its faults: cut after every step, 7 times 1.1
// is 7 for ever; a factor below 1 is taken; the cap comes after the draw, so that who has reached it waits without jitter.

/** `attempt` counts from 1, `random` is uniform in [0, 1); the answer is in milliseconds. */
export type IntervalFunction = (attempt: number, random: () => number) => number

/** Where whole numbers of 64 bits end, to which the original cuts. */
const LONGEST = 0x8000_0000_0000_0000

const interval = v.pipe(
  v.custom<Duration>((given) => toMs(given) >= 1, 'a span of at least 1 ms'),
  v.transform((given: Duration) => Math.trunc(toMs(given))),
)
const multiplierSchema = v.custom<number>((n) => typeof n === 'number' && Number.isFinite(n), 'a number')
const factorSchema = v.custom<number>((n) => typeof n === 'number' && n >= 0 && n <= 1, 'a number from 0 to 1')

const DEFAULT_INTERVAL_MS = 500
const DEFAULT_MULTIPLIER = 1.5
const DEFAULT_FACTOR = 0.5

function of(intervalMillis: Duration = DEFAULT_INTERVAL_MS): IntervalFunction {
  const ms = parse(interval, intervalMillis, 'IntervalFunction.intervalMillis')
  return (attempt) => {
    fromOne(attempt)
    return ms
  }
}

function ofExponentialBackoff(
  initialIntervalMillis: Duration = DEFAULT_INTERVAL_MS,
  multiplier: number = DEFAULT_MULTIPLIER,
  maxIntervalMillis?: Duration,
): IntervalFunction {
  const first = parse(interval, initialIntervalMillis, 'IntervalFunction.initialIntervalMillis')
  const times = parse(multiplierSchema, multiplier, 'IntervalFunction.multiplier')
  const most = longest(maxIntervalMillis)
  return (attempt) => Math.min(grown(first, times, attempt), most)
}

function ofRandomized(
  intervalMillis: Duration = DEFAULT_INTERVAL_MS,
  randomizationFactor: number = DEFAULT_FACTOR,
): IntervalFunction {
  const constant = of(intervalMillis)
  const factor = parse(factorSchema, randomizationFactor, 'IntervalFunction.randomizationFactor')
  return (attempt, random) => randomized(constant(attempt, random), factor, random())
}

function ofExponentialRandomBackoff(
  initialIntervalMillis: Duration = DEFAULT_INTERVAL_MS,
  multiplier: number = DEFAULT_MULTIPLIER,
  randomizationFactor: number = DEFAULT_FACTOR,
  maxIntervalMillis?: Duration,
): IntervalFunction {
  const exponential = ofExponentialBackoff(initialIntervalMillis, multiplier)
  const factor = parse(factorSchema, randomizationFactor, 'IntervalFunction.randomizationFactor')
  const most = longest(maxIntervalMillis)
  return (attempt, random) => Math.min(randomized(exponential(attempt, random), factor, random()), most)
}

/** The makers, under the names that resilience4j has for them. Spans are milliseconds or `'1.5s'`; a {@link ConfigError} names what is none. */
export const IntervalFunction = { of, ofExponentialBackoff, ofRandomized, ofExponentialRandomBackoff }

function longest(most: Duration | undefined): number {
  return most === undefined ? Number.POSITIVE_INFINITY : parse(interval, most, 'IntervalFunction.maxIntervalMillis')
}

function grown(first: number, times: number, attempt: number): number {
  fromOne(attempt)
  let ms = first
  for (let i = 1; i < attempt; i++) {
    const next = cut(ms * times)
    // It has stopped growing, and would go on doing so.
    if (next === ms) return ms
    ms = next
  }
  return ms
}

function randomized(ms: number, factor: number, draw: number): number {
  const delta = factor * ms
  const least = ms - delta
  const most = ms + delta
  return cut(Math.max(1, least + draw * (most - least + 1)))
}

/** As a cast to a whole number of 64 bits. */
function cut(ms: number): number {
  return Math.max(-LONGEST, Math.min(LONGEST, Math.trunc(ms)))
}

function fromOne(attempt: number): void {
  if (!(attempt >= 1)) throw new RangeError(`attempt is ${attempt}, expected a whole number from 1`)
}
