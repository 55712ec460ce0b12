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

/** What a name in a fault is cut to. */
const LONGEST_NAME = 40

/** Where an entry stands: its name, where it is a text, else its place. */
export function entryAt(pairs: OverridePairs | readonly unknown[], place: number): v.UnknownPathItem {
  const pair = pairs[place]
  const name = Array.isArray(pair) && typeof pair[0] === 'string' ? pair[0].slice(0, LONGEST_NAME) : place
  return { type: 'unknown', origin: 'value', input: pairs, key: name, value: pair }
}

const FORM = `limits by value, such as { vip: 100 } or [[42, 100]], at most ${MOST}`

function areOverrides(given: unknown): boolean {
  return typeof given === 'object' && given !== null && pairsOf(given).length <= MOST
}

/** Any form of overrides, read as pairs. */
export const overridePairs: v.GenericSchema<Overrides, OverridePairs> = v.pipe(
  v.custom<Overrides>(areOverrides, FORM),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const pairs = pairsOf(dataset.value)
    let isFine = true
    for (const [place, pair] of pairs.entries()) {
      if (isPair(pair)) continue
      isFine = false
      const isNamed = Array.isArray(pair) && pair.length === 2 && typeof pair[0] === 'string'
      addIssue({
        message: isNamed ? 'a number of 0 or more, or { rate, burst }' : 'a value and its limit, such as [42, 100]',
        input: isNamed ? pair[1] : pair,
        path: [entryAt(pairs, place)],
      })
    }
    return isFine ? (pairs as OverridePairs) : NEVER
  }),
)
