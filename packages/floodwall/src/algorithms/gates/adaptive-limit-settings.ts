import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { count, positiveSpan, share } from '../../core/schema.ts'
import { Aimd } from '../estimators/aimd.ts'
import type { Bounds } from '../estimators/estimate.ts'
import type { Estimator } from '../estimators/estimator.ts'
import { Fixed } from '../estimators/fixed.ts'
import { Gradient2 } from '../estimators/gradient2.ts'
import { Knee } from '../estimators/knee.ts'
import { Vegas } from '../estimators/vegas.ts'

/** An estimator that takes other bounds without forgetting what it knows. */
interface Bounded extends Estimator {
  reconfigure(bounds: Bounds): void
}

/** By name, for documents. */
const ESTIMATORS: Readonly<Record<string, (bounds: Bounds) => Estimator>> = {
  gradient2: (bounds) => new Gradient2(bounds),
  knee: ({ initial, max }) => new Knee({ start: initial, most: max }),
  vegas: (bounds) => new Vegas(bounds),
  aimd: (bounds) => new Aimd(bounds),
  fixed: (bounds) => new Fixed(bounds),
}

/** What learns the limit: one of ours by its name, or a function that makes one of yours. */
export type EstimatorChoice = 'gradient2' | 'knee' | 'vegas' | 'aimd' | 'fixed' | (() => Estimator)

/** Of the knee, which doubles with each round trip until it has found something; of the others as in concurrency-limits. */
const KNEE_STARTS = 4
const OTHERS_START = 20

function isChoice(input: unknown): boolean {
  return typeof input === 'function' || (typeof input === 'string' && Object.hasOwn(ESTIMATORS, input))
}

const NAMES = Object.keys(ESTIMATORS)
  .map((name) => `"${name}"`)
  .join(', ')

/** The options of an adaptive limit. All are optional; the defaults are safe. */
export const adaptiveLimitOptions = v.pipe(
  v.strictObject({
    /** What learns the limit. A function makes one of your own. Default `gradient2`. */
    estimator: v.optional(
      v.custom<EstimatorChoice>(isChoice, `one of ${NAMES}, or a function that makes an estimator`),
      'gradient2',
    ),
    /** Calls at once before anything is known; brought within the bounds. Default 20; 4 for `knee`. */
    initial: v.optional(count),
    /** Never fewer. Default 1. */
    min: v.optional(count, 1),
    /** Never more. Default 1000. */
    max: v.optional(count, 1000),
    /** What is left of the limit after a round in which every call was a drop; `knee` has a rule of its own. Default 0.7. */
    backoff: v.optional(share, 0.7),
    /** A success that took longer is a drop as well. Default: none is. */
    slowAfter: v.optional(positiveSpan),
  }),
  v.check(({ min, max }) => min <= max, 'min of at most max'),
)

/** What users write. */
export type AdaptiveLimitOptions = v.InferInput<typeof adaptiveLimitOptions>
/** The same with defaults filled in, spans in milliseconds. */
export type AdaptiveLimitSettings = v.InferOutput<typeof adaptiveLimitOptions>

export const adaptiveLimitSnapshot = v.strictObject({
  ...snapshotOf('adaptiveLimit'),
  /** Calls at once, now. */
  limit: v.number(),
  used: v.number(),
  /** The most that were ever inside at once. */
  most: v.number(),
  /** Since it was made: calls that found no slot, those that a waiting room asked for included. */
  refused: v.number(),
  /** Results that the limit learnt from; what failed or was ignored is none. */
  samples: v.number(),
  /** ... and those of them that were drops: timeouts, overload, and what was slow. */
  drops: v.number(),
  /** Waiting rooms that listen for a free slot. */
  rooms: v.number(),
  /** What the estimator knows: its kind, and numbers of its own. */
  estimator: v.looseObject({ kind: v.string() }),
})

/** A new estimator; one that is named begins at `initial`. */
export function estimatorOf(settings: AdaptiveLimitSettings, initial = settings.initial): Estimator {
  const { estimator } = settings
  if (typeof estimator === 'function') return estimator()
  const make = ESTIMATORS[estimator] as (bounds: Bounds) => Estimator
  return make(boundsOf(settings, initial))
}

/** What stands for `estimator` under other settings: another one begins where this one was, the same one keeps what it knows. */
export function reconfigured(
  estimator: Estimator,
  before: AdaptiveLimitSettings,
  settings: AdaptiveLimitSettings,
): Estimator {
  const { limit } = estimator
  if (settings.estimator !== before.estimator)
    return estimatorOf(settings, settings.estimator === 'fixed' ? settings.initial : limit)
  if (typeof settings.estimator === 'function') return estimator
  if (!isBounded(estimator)) return settings.max === before.max ? estimator : estimatorOf(settings, limit)
  estimator.reconfigure(boundsOf(settings, settings.initial))
  return estimator
}

function boundsOf({ estimator, backoff, min, max }: AdaptiveLimitSettings, initial: number | undefined): Bounds {
  return { initial: initial ?? (estimator === 'knee' ? KNEE_STARTS : OTHERS_START), min, max, backoff }
}

function isBounded(estimator: Estimator): estimator is Bounded {
  return 'reconfigure' in estimator
}
