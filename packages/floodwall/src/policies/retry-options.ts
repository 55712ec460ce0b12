import * as v from 'valibot'
import type { Duration } from '../core/duration.ts'
import { snapshotOf } from '../core/layer.ts'
import type { Outcome } from '../core/outcome.ts'
import { count, countOrZero, factor, oneOf, positiveSpan, share, shareOrZero, spanOrZero } from '../core/schema.ts'
import { actions, usualActions } from './retry-causes.ts'

/** How long to wait before retry number `retry` (1 is the first), after `outcome`; below 0, or undefined: do not try again. */
export type RetryWait = (retry: number, outcome: Outcome<unknown>) => Duration | undefined

const action = oneOf(...actions)

/** What a windowed budget is made of; retries and hedges have one each. */
export function budgetOptions(minimum: number) {
  return v.strictObject({
    ratio: v.optional(shareOrZero, 0.1),
    minimum: v.optional(countOrZero, minimum),
    over: v.optional(positiveSpan, '10s'),
  })
}

export const retryOptions = v.strictObject({
  /** Tries in all, the first included; 1: none is tried again here. Default 3. */
  attempts: v.optional(count, 3),
  /** What is done about which cause: `atOnce`, `backoff`, `asked` (only if the target named a time), `never`. */
  on: v.optional(
    v.strictObject({
      failure: v.optional(action, usualActions.failure),
      timeout: v.optional(action, usualActions.timeout),
      overload: v.optional(action, usualActions.overload),
      quota: v.optional(action, usualActions.quota),
    }),
    {},
  ),
  /** Full jitter below a ceiling that starts at `first`, grows by `factor` and stops at `atMost`. Default 50 ms, 2, 2 s; 0: no wait. */
  backoff: v.optional(
    v.strictObject({
      first: v.optional(spanOrZero, '50ms'),
      factor: v.optional(factor, 2),
      atMost: v.optional(positiveSpan, '2s'),
    }),
    {},
  ),
  /** The wait as a function, in place of `backoff`; below 0: no further try. What it gives is waited as it is, without jitter. Default: none. */
  wait: v.optional(v.custom<RetryWait>((f) => typeof f === 'function', 'a function from the retry to its wait')),
  /**
   * While at least this share of the cluster is of use, the first retry goes to another endpoint at once. With less there is one retry, after
   * its backoff. Default 0.5.
   */
  elsewhereAbove: v.optional(share, 0.5),
  /** Retries are at most `ratio` of the requests of the last `over`, or `minimum` where that is more. Default 0.1, 3, 10 s. */
  budget: v.optional(budgetOptions(3), {}),
  /** A target that asks for a longer pause than this is not waited for. Default 60 s. */
  pauseAtMost: v.optional(positiveSpan, '60s'),
})

export type RetryOptions = v.InferInput<typeof retryOptions>
export type RetrySettings = v.InferOutput<typeof retryOptions>

export const retrySnapshot = v.strictObject({
  ...snapshotOf('retry'),
  retries: v.number(),
  waiting: v.number(),
  /** Retries without a wait. */
  atOnce: v.number(),
  /** Not tried again because the budget was spent. */
  overBudget: v.number(),
  budget: v.strictObject({ spent: v.number(), allowed: v.number() }),
  /** Tries of the window by their number: first ones, second ones ... */
  tries: v.array(v.number()),
})
