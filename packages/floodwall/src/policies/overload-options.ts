import * as v from 'valibot'
import type { Doorkeeper, DoorkeeperSettings } from '../algorithms/admission/doorkeeper.ts'
import { type Pressure, SIGNALS } from '../algorithms/admission/pressure.ts'
import { snapshotOf } from '../core/layer.ts'
import type { Env } from '../core/runtime.ts'
import { count, positiveSpan } from '../core/schema.ts'

const isPressure = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Pressure>).level === 'function'

const signals = v.custom<readonly Pressure[]>(
  (input) => Array.isArray(input) && input.every(isPressure),
  'a list of signals, each with a name and a function level(now)',
)

/** The options of overload protection. None has to be given. */
export const overloadOptions = v.strictObject({
  /** The delay that is aimed at under overload. Default: what 98 of a hundred calls take without a queue, as measured. */
  target: v.optional(positiveSpan),
  /** Calls that may wait. Default 1000. */
  size: v.optional(count, 1000),
  /** The longest wait in calm times. Default 10 s. */
  atMost: v.optional(positiveSpan, '10s'),
  /** Of the number of calls inside at once, which is learned: where it begins, and the most. Default 4 and 1000. It is never less than 2, unless `most` is 1. */
  limits: v.optional(
    v.strictObject({
      start: v.optional(count, 4),
      most: v.optional(count, 1000),
    }),
    {},
  ),
  /** Besides waiting: the loop, a quota, memory. Above 1 each lowers the level. Default: those that the process shares. */
  signals: v.optional(signals),
  /** Users within a class are refused by cohort, and the cohorts change so often. Default 1 h. */
  cohorts: v.optional(v.strictObject({ rotate: v.optional(positiveSpan, '1h') }), {}),
  /** Decides and counts, and refuses nobody. Default: it refuses. */
  shadow: v.optional(v.boolean('true or false'), false),
})

export type OverloadOptions = v.InferInput<typeof overloadOptions>
export type OverloadSettings = v.InferOutput<typeof overloadOptions>

/** The part of the settings that is the doorkeeper's. */
export function keeperSettings({ target, atMost, limits, signals }: OverloadSettings, env: Env): DoorkeeperSettings {
  return {
    ...{ targetMs: target ?? 0, patienceMs: atMost, limits },
    signals: signals ?? env.share<Pressure[]>(SIGNALS, () => []),
  }
}

/** The part of the snapshot that is the doorkeeper's. */
export function keeperShows(keeper: Doorkeeper, now: number) {
  const { knee, inFlight, good, ran, classes, targetMs } = keeper
  return {
    ...{ overloaded: keeper.isOverloaded(now), level: keeper.posted(now), targetMs },
    ...{ serviceMs: knee.baseMs, limit: knee.limit, inFlight, ...classes.counts },
    ...{ inversions: classes.inversions, goodput: ran === 0 ? 1 : good / ran },
  }
}

const byClass = v.strictObject({
  criticalPlus: v.number(),
  critical: v.number(),
  sheddablePlus: v.number(),
  sheddable: v.number(),
})

export const overloadSnapshot = v.strictObject({
  ...snapshotOf('overload'),
  overloaded: v.boolean(),
  level: v.number(),
  targetMs: v.number(),
  delayMs: v.number(),
  serviceMs: v.number(),
  limit: v.number(),
  inFlight: v.number(),
  waiting: v.number(),
  admitted: byClass,
  refused: byClass,
  inversions: v.number(),
  goodput: v.number(),
  /** What comes, refused or not, in calls a second of the last half minute. */
  offeredPerS: v.number(),
  /** So many calls at once it would take to do all of that; above `limit`, this server is too small. */
  wanted: v.number(),
})
