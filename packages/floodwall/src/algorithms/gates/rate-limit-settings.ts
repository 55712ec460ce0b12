import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { rateOrBytes, spelled, unitsOrBytes } from '../../core/rate-schema.ts'
import { factor, oneOf, positiveSpan } from '../../core/schema.ts'

const ALGORITHMS = [
  'tokenBucket',
  'gcra',
  'leakyBucket',
  'slidingWindow',
  'slidingLog',
  'fixedWindow',
  'warmUp',
] as const

/** How a rate limit counts. docs/rate-limit.md has the worst case of each. */
export type RateAlgorithm = (typeof ALGORITHMS)[number]

/** Algorithms that count by windows: what they allow at once is the rate itself. */
const WINDOWS: readonly unknown[] = ['slidingWindow', 'slidingLog', 'fixedWindow'] satisfies RateAlgorithm[]

const entries = v.strictObject({
  /** Tokens earned per `per`, or bytes with their span: `'10MB/s'`. 0: nothing passes, or a given `burst` and then nothing. */
  rate: rateOrBytes,
  /** The span that `rate` is per. Default 1 s. */
  per: v.optional(positiveSpan, '1s'),
  /** The most that idling can save. Default: `rate`, at least 1; nothing at rate 0. Not for windows: theirs is `rate`. */
  burst: v.optional(unitsOrBytes),
  /**
   * `calls`: a call costs its `cost`. `time`: `cost` is an estimate in milliseconds of work, corrected by what the work took; an
   * underestimate is owed, up to one burst. Only for `tokenBucket`. Default `calls`.
   */
  charge: v.optional(oneOf('calls', 'time'), 'calls'),
  /** How it counts. Default `tokenBucket`. */
  algorithm: v.optional(oneOf(...ALGORITHMS)),
  /** Of `warmUp`: how long it takes, and from how little. */
  warmUp: v.optional(
    v.strictObject({
      /** From cold to warm at full use, and back when idle. Default 10 s. */
      over: v.optional(positiveSpan, '10s'),
      /** From cold it is so many times slower. Default 3, as in Sentinel and Guava. */
      coldFactor: v.optional(factor, 3),
    }),
  ),
})

type Given = Omit<v.InferOutput<typeof entries>, 'rate'>

/** What does not go together. */
function faultIn({ algorithm = 'tokenBucket', burst, charge, warmUp }: Given): string | undefined {
  if (burst !== undefined && WINDOWS.includes(algorithm)) return `no burst with "${algorithm}": its limit is the rate`
  if (charge === 'time' && algorithm !== 'tokenBucket') return 'charge "time" with "tokenBucket" only'
  if (warmUp !== undefined && algorithm !== 'warmUp') return 'warmUp with algorithm "warmUp" only'
  return undefined
}

export const rateOptions = v.pipe(
  entries,
  spelled(),
  v.rawCheck(({ dataset, addIssue }) => {
    const fault = dataset.typed ? faultIn(dataset.value) : undefined
    if (fault !== undefined) addIssue({ message: fault })
  }),
)

export type RateOptions = v.InferInput<typeof rateOptions>
export type RateSettings = v.InferOutput<typeof rateOptions>

export const rateSnapshot = v.strictObject({
  ...snapshotOf('rateLimit'),
  tokens: v.number(),
  burst: v.number(),
  perSecond: v.number(),
})

/** What idling can save, when nobody said. */
export function burstOf({ rate, burst }: { readonly rate: number; readonly burst?: number | undefined }): number {
  return burst ?? (rate === 0 ? 0 : Math.max(1, rate))
}
