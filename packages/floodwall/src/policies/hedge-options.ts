import * as v from 'valibot'
import { type HedgeDelay, shareOf } from '../algorithms/retry/hedge-delay.ts'
import { snapshotOf } from '../core/layer.ts'
import { count, positiveSpan, spanOrZero } from '../core/schema.ts'
import { budgetOptions } from './retry-options.ts'

/** A percentile of the latencies that were measured lately: 'p95', 'p99.9'. */
export type Percentile = `p${number}`

const percentile = v.custom<Percentile>((given) => typeof given === 'string' && !Number.isNaN(shareOf(given)))

const delay = v.custom<HedgeDelay>(
  (given) =>
    typeof given === 'object' &&
    given !== null &&
    typeof (given as Partial<HedgeDelay>).ms === 'function' &&
    typeof (given as Partial<HedgeDelay>).record === 'function',
)

export const hedgeOptions = v.strictObject({
  /** The next attempt is sent when the last one has taken so long: a percentile of late, a span, or a delay of your own. Default `p95`. */
  after: v.optional(
    v.union(
      [positiveSpan, percentile, delay],
      'a percentile such as "p95", a span such as 50 (ms) or "50ms", or a delay of your own',
    ),
    'p95',
  ),
  /** A percentile lower than this is not believed: timers and event loops are not that exact. Default 1 ms. */
  atLeast: v.optional(spanOrZero, '1ms'),
  /** A percentile is that of the last so long. Default 30 s. */
  over: v.optional(positiveSpan, '30s'),
  /** Attempts beyond the first are at most `ratio` of the calls of the last `over`, or `minimum` where that is more. Default 0.1, 3, 10 s. */
  budget: v.optional(budgetOptions(3), {}),
  /** Attempts beyond the first, for one call. Default 1. */
  most: v.optional(count, 1),
})

export type HedgeOptions = v.InferInput<typeof hedgeOptions>
export type HedgeSettings = v.InferOutput<typeof hedgeOptions>

export const hedgeSnapshot = v.strictObject({
  ...snapshotOf('hedge'),
  /** Attempts beyond the first. */
  hedges: v.number(),
  /** Those of them that brought the answer. */
  won: v.number(),
  /** Not sent because the budget was spent. */
  overBudget: v.number(),
  /** When the next attempt is sent; null while too little is known. */
  afterMs: v.nullable(v.number()),
  budget: v.strictObject({ spent: v.number(), allowed: v.number() }),
})
