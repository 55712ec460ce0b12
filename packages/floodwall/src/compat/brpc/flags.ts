import * as v from 'valibot'
import { count, countOrZero, share } from '../../core/schema.ts'

const windowSize = v.pipe(count, v.maxValue(10_000_000, 'a whole number from 1 to 10000000'))
const percent = v.pipe(countOrZero, v.maxValue(100, 'a whole number from 0 to 100'))

/** The flags of brpc's circuit breaker, `circuit_breaker_` cut off; the defaults are brpc's. */
export const brpcFlags = v.strictObject({
  /** In calls. Read at construction. */
  shortWindowSize: v.optional(windowSize, 1500),
  longWindowSize: v.optional(windowSize, 3000),
  /** Whole percents. Read at construction. A share of the calls only in the first window, see {@link BrpcErrorRecorder}. */
  shortWindowErrorPercent: v.optional(percent, 10),
  longWindowErrorPercent: v.optional(percent, 5),
  /** What a success leaves of a window's cost after a window of successes (read at construction), and the slack of the limit (read live). */
  epsilonValue: v.optional(share, 0.02),
  /** A success sets a cost below this to 0. */
  minErrorCostUs: v.optional(countOrZero, 500),
  /** A failure costs at most this many average successes. brpc spells it `mutiple`. */
  maxFailedLatencyMultiple: v.optional(countOrZero, 2),
  minIsolationDurationMs: v.optional(countOrZero, 100),
  /** The longest isolation, and how long the breaker must have been healthy for the next one to be short again. */
  maxIsolationDurationMs: v.optional(countOrZero, 30_000),
  /** Successes in a row that end the half-open phase after a reset; 0: there is none. */
  halfOpenWindowSize: v.optional(countOrZero, 0),
})

/** What users write. */
export type BrpcFlags = v.InferInput<typeof brpcFlags>
/** The same with brpc's defaults filled in. */
export type BrpcFlagValues = v.InferOutput<typeof brpcFlags>
