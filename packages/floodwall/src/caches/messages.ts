import * as v from 'valibot'

// What do caches and tables of different processes say to each other?
//
// Strangers' data: everything is bounded, and what has a field too many is from another version and not understood.

/** Keys of one message; more go in several. */
export const MOST_KEYS = 1000
const LONGEST_KEY = 1000
/** A day: who wants to keep longer has no hot key but a table. */
const MOST_TTL_MS = 86_400_000

const key = v.union([v.pipe(v.string(), v.maxLength(LONGEST_KEY)), v.pipe(v.number(), v.finite())])
const keys = v.pipe(v.array(key), v.minLength(1), v.maxLength(MOST_KEYS))
const ttlMs = v.pipe(v.number(), v.gtValue(0), v.maxValue(MOST_TTL_MS))

/** Whether a message can hold `input`. */
export function isKey(input: unknown): input is string | number {
  return v.is(key, input)
}

/** To hot caches. */
export type CacheMessage =
  | { readonly do: 'invalidate'; readonly keys: readonly (string | number)[] }
  | { readonly do: 'warm'; readonly keys: readonly (string | number)[]; readonly ttlMs: number }

export const cacheMessage: v.GenericSchema<unknown, CacheMessage> = v.variant('do', [
  v.strictObject({ do: v.literal('invalidate'), keys }),
  v.strictObject({ do: v.literal('warm'), keys, ttlMs }),
]) as v.GenericSchema<unknown, CacheMessage>

/** To tables. */
export type TableMessage = { readonly do: 'refresh' }

export const tableMessage: v.GenericSchema<unknown, TableMessage> = v.strictObject({
  do: v.literal('refresh'),
}) as v.GenericSchema<unknown, TableMessage>
