import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { amountOrZero, count, countOrZero, oneOf, positiveSpan } from '../../core/schema.ts'
import type { CounterCacheMaker } from '../sketches/counter-cache.ts'
import { entryAt, type OverrideLimit, overridePairs } from './hot-parameter-overrides.ts'
import type { Parameter } from './hot-parameter-value.ts'

/** What is counted for each value: calls inside, calls per time, or calls per time that wait for their turn. */
export type HotParameterBehaviour = 'concurrency' | 'rate' | 'pace'

const LONGEST_NAME = 256

/** What comes from a request: a header by its token (RFC 9110, 5.1), a segment of the path, what the query says. */
const PART = /^(?:header:[!#$%&'*+.^`|~\w-]+|path:\d{1,3}|query:[^]+)$/

function isParameter(given: unknown): boolean {
  if (typeof given !== 'string') return typeof given === 'function' || Number.isInteger(given)
  if (given.length === 0 || given.length > LONGEST_NAME) return false
  return !given.includes(':') || PART.test(given)
}

const entries = v.strictObject({
  /**
   * What is limited: the index of an argument (-1 is the last one), a part of a request such as `'header:x-user'`, `'path:1'` or `'query:item'`, a
   * field of the call's data such as `'user.id'`, or a function from the call to its value.
   */
  parameter: v.custom<Parameter>(
    isParameter,
    'the index of an argument, "header:" or "query:" with a name, "path:" with a number, a field such as "user.id", or a function from the call to its value',
  ),
  /** Calls inside at once for each value; 0 closes it. Or: */
  slots: v.optional(countOrZero),
  /** Calls for each value per `per`. */
  rate: v.optional(amountOrZero),
  /** The span that `rate` is per. Default 1 s. */
  per: v.optional(positiveSpan),
  /** The most that idling can save. Default: `rate`, at least 1. Not with `maxWait`: a pace goes one by one. */
  burst: v.optional(amountOrZero),
  /** Who comes too early waits for the turn of his value, so long at most. Default: he is refused. */
  maxWait: v.optional(positiveSpan),
  /** With `maxWait`: calls that may wait, of all values together. Default 10,000. */
  size: v.optional(count),
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

/** What does not go together, or would say nothing. */
function faultIn({ slots, rate, per, burst, maxWait, size }: Given): string | undefined {
  if ((slots === undefined) === (rate === undefined)) return 'either slots or rate'
  if (slots !== undefined && burst !== undefined) return 'burst with rate only'
  if (slots !== undefined && maxWait !== undefined) return 'maxWait with rate only'
  if (slots !== undefined && per !== undefined) return 'per with rate only: slots are calls at once'
  if (maxWait === undefined && size !== undefined) return 'size with maxWait only: nobody waits'
  if (burst !== undefined && maxWait !== undefined) return 'no burst with maxWait: a pace goes one by one'
  return undefined
}

function faultInOverride(limit: OverrideLimit, { slots, maxWait }: Given): string | undefined {
  if (slots !== undefined && !Number.isInteger(limit)) return 'a whole number from 0: overrides of slots are slots'
  if (maxWait !== undefined && typeof limit !== 'number' && limit.burst !== undefined)
    return 'no burst in overrides with maxWait'
  return undefined
}

const PER_MS = 1000
const SIZE = 10_000

export const hotParameterOptions = v.pipe(
  entries,
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed || dataset.issues !== undefined) return
    const { value: given } = dataset
    const fault = faultIn(given)
    if (fault !== undefined) return addIssue({ message: fault })
    const { overrides = [] } = given
    const entry = { type: 'object', origin: 'value', input: given, key: 'overrides', value: overrides } as const
    for (const [place, [, limit]] of overrides.entries()) {
      const message = faultInOverride(limit, given)
      if (message !== undefined) addIssue({ message, input: limit, path: [entry, entryAt(overrides, place)] })
    }
  }),
  // Only where they say something, so that what was read can be read again.
  v.transform(({ per = PER_MS, size = SIZE, ...given }) => ({
    ...given,
    per: given.slots === undefined ? per : undefined,
    size: given.maxWait === undefined ? undefined : size,
  })),
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
