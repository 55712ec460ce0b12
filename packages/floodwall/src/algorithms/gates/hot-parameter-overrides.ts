import * as v from 'valibot'
import { amountOrZero } from '../../core/schema.ts'
import type { ParameterValue } from './hot-parameter-value.ts'

/** The limit of one value: its slots, its rate, or its rate and burst. */
export type OverrideLimit = number | { readonly rate: number; readonly burst?: number | undefined }

/** Limits by value, as they are kept: plain, so that two documents that say the same are the same. */
export type OverridePairs = readonly (readonly [value: ParameterValue, limit: OverrideLimit])[]

/** Limits by value: an object where all values are texts, else a Map or pairs. */
export type Overrides =
  | OverridePairs
  | ReadonlyMap<ParameterValue, OverrideLimit>
  | Readonly<Record<string, OverrideLimit>>

/** More is a table that belongs elsewhere. */
const MOST = 10_000

const limit = v.union([amountOrZero, v.strictObject({ rate: amountOrZero, burst: v.optional(amountOrZero) })])

function pairsOf(given: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given
  if (given instanceof Map) return [...(given as Map<unknown, unknown>)]
  return Object.entries(given as object)
}

function isPair(pair: unknown): boolean {
  if (!Array.isArray(pair) || pair.length !== 2) return false
  return ['string', 'number', 'boolean', 'bigint'].includes(typeof pair[0]) && v.is(limit, pair[1])
}

function areOverrides(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  const pairs = pairsOf(given)
  return pairs.length <= MOST && pairs.every(isPair)
}

/** Any form of overrides, read as pairs. */
export const overridePairs: v.GenericSchema<Overrides, OverridePairs> = v.pipe(
  v.custom<Overrides>(areOverrides, `limits by value, such as { vip: 100 } or [[42, 100]], at most ${MOST}`),
  v.transform((given) => pairsOf(given) as OverridePairs),
)
