import * as v from 'valibot'
import type { Ask } from '../../core/gate.ts'
import { snapshotOf } from '../../core/layer.ts'
import { rateOrBytes, spelled, unitsOrBytes } from '../../core/rate-schema.ts'
import { amountOrZero, count, oneOf, positiveSpan, shareOrZero } from '../../core/schema.ts'
import { LONGEST_KEY } from '../keys/hash.ts'
import type { KeyOf } from './keyed.ts'

/** What a call costs, in the units of the limit. */
export type CostOf = (ask: Ask) => number

/** Each newcomer is compared with all patterns. */
const MOST_PATTERNS = 64
/** Which limit a key has is told in 16 bits. */
const MOST_OVERRIDES = 0xffff - 1
/** The sum of shares in doubles may be a little more. */
const ONE = 1 + 1e-9
/** 700 MB, texts apart: more is not for one process. */
const MOST_KEYS = 16_000_000

const limit = {
  per: v.optional(positiveSpan, '1s'),
  burst: v.optional(unitsOrBytes),
}

const override = v.pipe(
  v.strictObject({ rate: rateOrBytes, ...limit }, 'a limit such as { rate: 100, burst: 200 }'),
  spelled(),
)

const overrides = v.pipe(
  v.record(v.string(), override, 'limits by key or pattern, such as { "partner:*": { rate: 100 } }'),
  v.check((by) => Object.keys(by).length <= MOST_OVERRIDES, `at most ${MOST_OVERRIDES} overrides`),
  v.check((by) => patternsIn(by).length <= MOST_PATTERNS, `at most ${MOST_PATTERNS} patterns`),
  v.check(
    (by) => Object.keys(by).every((name) => name.length <= LONGEST_KEY),
    `names of at most ${LONGEST_KEY} characters`,
  ),
)

function patternsIn(by: object): string[] {
  return Object.keys(by).filter((name) => name.includes('*'))
}

const reserve = v.pipe(
  v.strictObject({
    /** Of each key's burst only for `criticalPlus`. Default 0, as for the others. */
    criticalPlus: v.optional(shareOrZero, 0),
    /** Only for `critical` and above. */
    critical: v.optional(shareOrZero, 0),
    /** Not for `sheddable`. */
    sheddablePlus: v.optional(shareOrZero, 0),
  }),
  v.check(
    ({ criticalPlus, critical, sheddablePlus }) => criticalPlus + critical + sheddablePlus <= ONE,
    'shares that add up to at most 1',
  ),
)

const oversell = v.pipe(
  v.strictObject({
    /** What all keys together may take per `per`; their limits may add up to more. Required. */
    rate: v.optional(amountOrZero),
    ...limit,
  }),
  v.check(({ rate }) => rate !== undefined && rate > 0, 'a rate above 0: what all keys together may take'),
)

const entries = v.strictObject({
  /** What each key may take per `per`. 0: nothing, or a given `burst` and then nothing; keys with an override have theirs. */
  rate: rateOrBytes,
  /** The span that `rate` is per. Default 1 s. */
  per: limit.per,
  /** The most that a key's idling can save. Default: `rate`, at least 1; nothing at rate 0. */
  burst: limit.burst,
  /** Keys that are told apart. Default 100,000. */
  max: v.optional(
    v.pipe(
      count,
      v.check((keys) => keys <= MOST_KEYS, `at most ${MOST_KEYS} keys`),
    ),
    100_000,
  ),
  /** Default: the call's `key`. */
  by: v.optional(v.custom<KeyOf>((input) => typeof input === 'function', 'a function from the call to its key')),
  /** Limits of their own, by key or by pattern (`*` is any run of characters). */
  overrides: v.optional(overrides),
  /** Shares of each key's burst that are only for a class of criticality and those above it. */
  reserve: v.optional(reserve),
  /**
   * `calls`: a call costs its `cost`. A function: what it says. `learned`: limits are in milliseconds of work; what calls of its `method` took lately is
   * charged at the beginning, and corrected by what it took. Default `calls`.
   */
  cost: v.optional(
    v.union(
      [oneOf('calls', 'learned'), v.custom<CostOf>((input) => typeof input === 'function')],
      '"calls", "learned", or a function from the call to its cost',
    ),
    'calls',
  ),
  /** What the whole can carry: keys may go above their limits while it has room, and share it fairly when it has none. */
  oversell: v.optional(oversell),
})

export const keyedRateOptions = v.pipe(entries, spelled())

export type KeyedRateOptions = v.InferInput<typeof keyedRateOptions>
export type KeyedRateSettings = v.InferOutput<typeof keyedRateOptions>

export const keyedRateSnapshot = v.strictObject({
  ...snapshotOf('keyedRateLimit'),
  keys: v.number(),
  max: v.number(),
  burst: v.number(),
  perSecond: v.number(),
  evicted: v.number(),
  inherited: v.number(),
  shared: v.number(),
  others: v.number(),
  whole: v.nullable(
    v.strictObject({
      tokens: v.number(),
      burst: v.number(),
      perSecond: v.number(),
      oversold: v.number(),
      above: v.number(),
      levelled: v.number(),
    }),
  ),
})
