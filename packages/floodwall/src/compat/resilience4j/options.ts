import * as v from 'valibot'
import { faultTogether, resilience4jEntries } from '../../algorithms/gates/resilience4j-options.ts'
import { snapshotOf } from '../../core/layer.ts'
import { oneOf, positiveSpan } from '../../core/schema.ts'

const states = ['CLOSED', 'OPEN', 'HALF_OPEN', 'DISABLED', 'FORCED_OPEN', 'METRICS_ONLY'] as const
export type Resilience4jState = (typeof states)[number]

/** How a call ended, for `transitionOnResult`. `result` is the value or the error, where the caller of the breaker gave one; in a pipeline it is the verdict. */
export interface Resilience4jResult {
  readonly ok: boolean
  readonly result: unknown
}

/** False or nothing: stay. True: open for the usual wait. `waitMs` or, on the wall clock, `untilMs`: open for so long. */
export type Resilience4jTransition = boolean | undefined | { readonly waitMs: number } | { readonly untilMs: number }

const transition = v.custom<(of: Resilience4jResult) => Resilience4jTransition>(
  (given) => typeof given === 'function',
  'a function from { ok, result } to true, { waitMs }, { untilMs } or nothing',
)

const entries = v.strictObject({
  ...resilience4jEntries,
  /** What is slow: longer than this. Default 60 s. */
  slowCallDurationThreshold: v.optional(positiveSpan, '60s'),
  /** Default `CLOSED`. */
  initialState: v.optional(oneOf(...states), 'CLOSED'),
  /** Asked for each good result and each error that is not ignored; may open a closed breaker at once. Default: never. */
  transitionOnResult: v.optional(transition),
  /**
   * Not an option of resilience4j: the wall clock, in milliseconds of the epoch, at 0 of the runtime's clock. Buckets of a time window then
   * begin with its seconds, as there; on the system runtime that is `performance.timeOrigin`. Default 0.
   */
  epochMs: v.optional(
    v.custom<number>((n) => typeof n === 'number' && Math.abs(n) <= 8.64e15, 'milliseconds'),
    0,
  ),
})

type Given = v.InferOutput<typeof entries>

function faultIn(given: Given): string | undefined {
  const { slidingWindowType, slidingWindowSynchronizationStrategy: strategy, slidingWindowSize } = given
  if (slidingWindowType === 'TIME_BASED' && strategy === 'LOCK_FREE' && slidingWindowSize < 2)
    return 'slidingWindowSize of at least 2 for a LOCK_FREE window of time'
  return faultTogether(given)
}

export const resilience4jOptions = v.pipe(
  entries,
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? faultIn(dataset.value) : undefined
    if (fault !== undefined) addIssue({ message: fault })
  }),
)

export type Resilience4jOptions = v.InferInput<typeof resilience4jOptions>
export type Resilience4jSettings = v.InferOutput<typeof resilience4jOptions>

export const resilience4jSnapshot = v.strictObject({
  ...snapshotOf('resilience4jBreaker'),
  state: v.picklist(states),
  /** Openings in a row. */
  attempts: v.number(),
  /** Milliseconds until the first probe may pass; 0 unless open. */
  probeInMs: v.number(),
  /** Percent; -1: not enough calls. */
  failureRate: v.number(),
  slowCallRate: v.number(),
  bufferedCalls: v.number(),
  failedCalls: v.number(),
  slowCalls: v.number(),
  slowFailedCalls: v.number(),
  notPermittedCalls: v.number(),
})
