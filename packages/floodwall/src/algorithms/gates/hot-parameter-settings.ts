import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { amountOrZero, count, countOrZero, oneOf, positiveSpan } from '../../core/schema.ts'
import type { CounterCacheMaker } from '../sketches/counter-cache.ts'
import { type OverridePairs, overridePairs } from './hot-parameter-overrides.ts'
import type { Parameter } from './hot-parameter-value.ts'

/** What is counted for each value: calls inside, calls per time, or calls per time that wait for their turn. */
export type HotParameterBehaviour = 'concurrency' | 'rate' | 'pace'

const LONGEST_NAME = 256

function isParameter(given: unknown): boolean {
  if (typeof given === 'string') return given.length > 0 && given.length <= LONGEST_NAME
  return typeof given === 'function' || Number.isInteger(given)
}

const entries = v.strictObject({
  /**
   * What is limited: the index of an argument (-1 is the last one), a part of a request such as `'header:x-user'`, `'path:1'` or `'query:item'`, a
   * field of the call's data such as `'user.id'`, or a function from the call to its value.
   */
  parameter: v.custom<Parameter>(
    isParameter,
    'the index of an argument, a name such as "query:item" or "user.id", or a function from the call to its value',
  ),
  /** Calls inside at once for each value; 0 closes it. Or: */
  slots: v.optional(countOrZero),
  /** Calls for each value per `per`. */
  rate: v.optional(amountOrZero),
  /** The span that `rate` is per. Default 1 s. */
  per: v.optional(positiveSpan, '1s'),
  /** The most that idling can save. Default: `rate`, at least 1. Not with `maxWait`: a pace goes one by one. */
  burst: v.optional(amountOrZero),
  /** Who comes too early waits for the turn of his value, so long at most. Default: he is refused. */
  maxWait: v.optional(positiveSpan),
  /** With `maxWait`: calls that may wait, of all values together. Default 10,000. */
  size: v.optional(count, 10_000),
  /** Other limits for some values, by value: `{ vip: 100 }`, or pairs or a Map where values are no texts: `[[42, 100]]`. Default: none. */
  overrides: v.optional(overridePairs),
  /** Values that are told apart. Default 10,000. */
  max: v.optional(count, 10_000),
  /** Which values stay when there are more: those that were used last (`lru`), often (`tinyLfu`), or as a cache of yours says. Default `lru`. */
  cache: v.optional(
    v.union(
      [oneOf('lru', 'tinyLfu'), v.custom<CounterCacheMaker>((given) => typeof given === 'function')],
      '"lru", "tinyLfu", or a function that makes a counter cache',
    ),
    'lru',
  ),
})

type Given = v.InferOutput<typeof entries>

/** What does not go together. */
function faultIn({ slots, rate, burst, maxWait, overrides = [] }: Given): string | undefined {
  if ((slots === undefined) === (rate === undefined)) return 'either slots or rate'
  if (slots !== undefined && burst !== undefined) return 'burst with rate only'
  if (slots !== undefined && maxWait !== undefined) return 'maxWait with rate only'
  if (burst !== undefined && maxWait !== undefined) return 'no burst with maxWait: a pace goes one by one'
  return faultInOverrides(overrides, slots !== undefined, maxWait !== undefined)
}

function faultInOverrides(overrides: OverridePairs, areSlots: boolean, isPace: boolean): string | undefined {
  for (const [, limit] of overrides) {
    if (areSlots && !Number.isInteger(limit)) return 'overrides of slots that are whole numbers'
    if (isPace && typeof limit !== 'number' && limit.burst !== undefined) return 'no burst in overrides with maxWait'
  }
  return undefined
}

export const hotParameterOptions = v.pipe(
  entries,
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed && dataset.issues === undefined ? faultIn(dataset.value) : undefined
    if (fault !== undefined) addIssue({ message: fault })
  }),
)

export type HotParameterOptions = v.InferInput<typeof hotParameterOptions>
export type HotParameterSettings = v.InferOutput<typeof hotParameterOptions>

export const hotParameterSnapshot = v.strictObject({
  ...snapshotOf('hotParameter'),
  behaviour: v.picklist(['concurrency', 'rate', 'pace']),
  /** Told apart now. */
  values: v.number(),
  max: v.number(),
  /** Values that made room for others. */
  evicted: v.number(),
  /** Of those, the ones whose debt a newcomer had to take over. */
  inherited: v.number(),
  /** Calls under the limit that all values without one of their own share. */
  shared: v.number(),
  /** Calls without the parameter: not limited. */
  skipped: v.number(),
  refused: v.number(),
  /** With `maxWait`: who waits now. */
  waiting: v.number(),
  /** The values that were refused most often; each count is at most too high. */
  hottest: v.array(v.strictObject({ value: v.string(), refused: v.number() })),
})

export function behaviourOf({ slots, maxWait }: HotParameterSettings): HotParameterBehaviour {
  if (slots !== undefined) return 'concurrency'
  return maxWait === undefined ? 'rate' : 'pace'
}
