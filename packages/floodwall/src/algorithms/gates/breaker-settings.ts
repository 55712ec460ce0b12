import * as v from 'valibot'
import type { Duration } from '../../core/duration.ts'
import { snapshotOf } from '../../core/layer.ts'
import { count, factor, oneOf, positiveSpan, share, shareOrZero } from '../../core/schema.ts'
import { errorCostOptions } from '../trips/error-cost-options.ts'

// Whoever writes something else is told of the span only: a document cannot have a function.
const openFor = v.union(
  [positiveSpan, v.custom<OpenFor>((input) => typeof input === 'function', 'a function')],
  'a span such as 250 (ms), "250ms" or "1.5s", above 0',
)

/** How long it stays open, by how often it has opened: 1 for the first time. */
export type OpenFor = (timesOpened: number) => Duration

const fields = v.strictObject({
  /** Opens when this share of the calls failed. Default 0.5, or off when `slowRate`, `errorCount` or `errorCost` says when to open. */
  failureRate: v.optional(share),
  /** Opens when this share of the calls took longer than `slowAfter`; those that still run and are older count too. Default: off. */
  slowRate: v.optional(share),
  /** Opens at so many failed calls in the window, whatever their share. Default: off. */
  errorCount: v.optional(count),
  /** The window of these three, as a span. Default 10 s. */
  over: v.optional(positiveSpan, '10s'),
  /** The window's buckets: it moves by a bucket at a time. Default 10. */
  buckets: v.optional(v.pipe(count, v.maxValue(65_536, 'a whole number from 1 to 65536')), 10),
  /** The window as a number of calls; replaces `over`. */
  lastCalls: v.optional(v.pipe(count, v.maxValue(16_777_216, 'a whole number from 1 to 16777216'))),
  /** No verdict with fewer calls in the window. Default 20. */
  atLeast: v.optional(count, 20),
  /** Opens by what the errors cost instead of how many they are; replaces the failure rate. Default: off (clusters turn it on). */
  errorCost: v.optional(errorCostOptions),
  /** Opens also after so many failures in a row, whatever the rate. Default: off. */
  consecutive: v.optional(count),
  /**
   * The slow limit. A call is slow when it took longer. An attempt that was given less says nothing when it times out; one that was cancelled
   * after it counts as failed.
   */
  slowAfter: v.optional(positiveSpan),
  /** How long it stays open the first time; in code also a function, see {@link OpenFor}. Default 5 s. */
  openFor: v.optional(openFor, '5s'),
  /** Each time that probes fail the open time grows by this factor; a function grows by itself. Default 2. */
  growth: v.optional(factor, 2),
  /** ... up to this. Default 60 s; off for a function. */
  openAtMost: v.optional(positiveSpan),
  /** Closed for so long, the open time starts small again. Default 60 s. */
  healthyAfter: v.optional(positiveSpan, '60s'),
  /** Lengthens the open time by a random share of up to this, so that a fleet does not probe in step. Default 0.1. */
  jitter: v.optional(shareOrZero, 0.1),
  /** Goes half-open at the end of the open time by a timer instead of with the next call, so that it can be seen. Default: off. */
  eager: v.optional(v.boolean('true or false')),
  /** Trial calls when half-open; the rest is refused until they have decided. Default 3. */
  probes: v.optional(count, 3),
  /** The share of failed probes that opens again. Default 0.5. */
  probeFailureRate: v.optional(share, 0.5),
  /** A probe that nobody reports on gives its slot back after this. Default 10 s. */
  probeLapse: v.optional(positiveSpan, '10s'),
  /** Without a decision for so long after the first probe, half-open ends as `halfOpenEnd` says. Default: off. */
  halfOpenAtMost: v.optional(positiveSpan),
  /** Default `open`. */
  halfOpenEnd: v.optional(oneOf('open', 'closed')),
  /** After probes have closed it, the share of calls that is let through grows from a tenth to all within this. Default: off. */
  ramp: v.optional(positiveSpan),
})

/** The options of a breaker. All are optional; the defaults are safe. */
export const breakerOptions = v.pipe(
  fields,
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return
    const { slowRate, slowAfter, errorCount = 0, lastCalls = Number.POSITIVE_INFINITY } = dataset.value
    const wrong = (key: string, value: unknown, message: string) =>
      addIssue({ message, input: value, path: [{ type: 'object', origin: 'value', input: dataset.value, key, value }] })
    if (slowRate !== undefined && slowAfter === undefined)
      wrong('slowAfter', slowAfter, 'a span such as 250 (ms), "250ms" or "1.5s": slowRate needs to know what is slow')
    if (errorCount > lastCalls)
      wrong('errorCount', errorCount, `at most lastCalls (${lastCalls}): a window of fewer calls never holds so many`)
  }),
  v.transform(withDefaults),
)

type Fields = v.InferOutput<typeof fields>

const FIELDS = Object.keys(fields.entries) as (keyof Fields)[]

const FAILURE_RATE = 0.5
const OPEN_AT_MOST_MS = 60_000

/** The defaults that depend on what else was said: a rule about slow calls is one about slow calls, and a function knows how far it grows. */
function withDefaults(given: Fields): Fields {
  const { slowRate, errorCount, errorCost, openFor } = given
  const named = slowRate !== undefined || errorCount !== undefined || errorCost !== undefined
  const failureRate = given.failureRate ?? (named ? undefined : FAILURE_RATE)
  const openAtMost = given.openAtMost ?? (typeof openFor === 'number' ? OPEN_AT_MOST_MS : undefined)
  // Settings that have been here before come again with every key of a keyed breaker.
  if (failureRate === given.failureRate && openAtMost === given.openAtMost) return given
  // In the order of the schema, since `explain()` prints them, and without what was not said.
  const filled: Record<string, unknown> = {}
  for (const name of FIELDS) {
    const value = name === 'failureRate' ? failureRate : name === 'openAtMost' ? openAtMost : given[name]
    if (value !== undefined) filled[name] = value
  }
  return filled as Fields
}

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
  /** The share of slow calls in the window, those that hang included; 0 without `slowRate`. */
  slowShare: v.number(),
  /** Calls that are older than `slowAfter` and still run; 0 without `slowRate`. */
  hanging: v.number(),
  /** The share of calls that is let through; 1 but while it ramps. */
  rampShare: v.number(),
})
