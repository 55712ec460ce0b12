import * as v from 'valibot'
import type { Duration } from '../../core/duration.ts'
import { amountOrZero, count, oneOf, positiveSpan } from '../../core/schema.ts'

const partOfOne: v.GenericSchema<number, number> = v.custom<number>(
  (n) => typeof n === 'number' && n > 0 && n < 1,
  'a share above 0 and below 1 (0.3 is 30 %)',
)

const multiple: v.GenericSchema<number, number> = v.custom<number>(
  (n) => typeof n === 'number' && n >= 1,
  'a number from 1, or Infinity',
)

function windowOptions(lastCalls: number, over: Duration, maxErrorRate: number, minEvidence: number) {
  const schema = v.strictObject({
    /** After so many calls `epsilon` is left of an error. */
    lastCalls: v.optional(count, lastCalls),
    /** ... and after so long, however few the calls. */
    over: v.optional(positiveSpan, over),
    /** Opens when failures cost more than this share of what all calls cost, in normal calls. */
    maxErrorRate: v.optional(partOfOne, maxErrorRate),
    /** Never on fewer failed calls than this, whatever they cost. */
    minEvidence: v.optional(count, minEvidence),
  })
  return v.optional(schema, {})
}

const fields = v.strictObject({
  /** The window for outages: few calls, a high limit. Default: 200 calls, 60 s, 0.3, 7 failures. */
  short: windowOptions(200, '60s', 0.3, 7),
  /** The window for what goes wrong a little, but all the time. Default: 3000 calls, 2 min, 0.15, 30 failures. */
  long: windowOptions(3000, '2m', 0.15, 30),
  /** What a window leaves of an error at its end. Default 0.02. */
  epsilon: v.optional(partOfOne, 0.02),
  /** A failed call costs at most so many normal calls of its method; `Infinity`: as many as it took. Default 2. */
  maxFailedLatencyMultiple: v.optional(multiple, 2),
  /** A success forgets a cost below this, in normal calls. Default 0.05. */
  minErrorCost: v.optional(amountOrZero, 0.05),
  /** `sum`: a failure adds and a success decays. `ema`: every call decays. Default `sum`. */
  accumulate: v.optional(oneOf('sum', 'ema'), 'sum'),
  /** The long window takes the calls in batches instead of one by one. Default false. */
  secondStage: v.optional(v.boolean('true or false'), false),
})

const TOO_SHORT = 'a window of which a call keeps at least half: 6 calls or more with epsilon 0.02'

/** The options of the error-cost trip. All are optional; the defaults are safe. */
export const errorCostOptions = v.pipe(
  fields,
  v.forward(
    v.check(({ short, epsilon }) => decayPerCall(epsilon, short.lastCalls) >= 0.5, TOO_SHORT),
    ['short', 'lastCalls'],
  ),
  v.forward(
    v.check(({ long, epsilon }) => decayPerCall(epsilon, long.lastCalls) >= 0.5, TOO_SHORT),
    ['long', 'lastCalls'],
  ),
)

/** What users write. */
export type ErrorCostOptions = v.InferInput<typeof errorCostOptions>
/** The same with defaults filled in, spans in milliseconds. */
export type ErrorCostSettings = v.InferOutput<typeof errorCostOptions>
export type ErrorCostWindowSettings = ErrorCostSettings['short']

/**
 * What one call leaves, so that `epsilon` is left after `calls` of them. Not by the power function, whose last bit differs between Node 20
 * and 24: V8's exp and log are ports of fdlibm, the same code on every platform.
 */
export function decayPerCall(epsilon: number, calls: number): number {
  return Math.exp(Math.log(epsilon) / calls)
}
