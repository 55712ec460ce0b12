import * as v from 'valibot'
import type { Duration } from '../core/duration.ts'
import { positiveSpan } from '../core/schema.ts'

// What do caches and tables of different processes say to each other?
//
// Strangers' data: everything is bounded, and what has a field too many is from another version and not understood.

/** Keys of one message; more go in several. */
export const MOST_KEYS = 1000
const LONGEST_KEY = 1000
/** A day: who wants to keep longer has no hot key but a table. */
const MOST_TTL_MS = 86_400_000

const key = v.custom<string | number>(isKey, `a finite number or a text of at most ${LONGEST_KEY} characters`)

/** Keys of one message. */
export const keysOfMessage: v.GenericSchema<(string | number)[]> = v.pipe(
  v.array(key, 'a list of keys'),
  v.minLength(1, 'at least one key'),
  v.maxLength(MOST_KEYS, `at most ${MOST_KEYS} keys`),
)
const ttlMs = v.pipe(v.number(), v.gtValue(0), v.maxValue(MOST_TTL_MS))

/** How long warm keys are kept, as people write it, and no longer than a message can say. */
export const ttlOfMessage: v.GenericSchema<Duration, number> = v.pipe(
  positiveSpan,
  v.maxValue(MOST_TTL_MS, 'a day at most'),
)

/** Whether a message can hold `input`. */
export function isKey(input: unknown): input is string | number {
  return typeof input === 'string' ? input.length <= LONGEST_KEY : Number.isFinite(input)
}

/** To hot caches. */
export type CacheMessage =
  | { readonly do: 'invalidate'; readonly keys: readonly (string | number)[] }
  | { readonly do: 'warm'; readonly keys: readonly (string | number)[]; readonly ttlMs: number }

export const cacheMessage: v.GenericSchema<unknown, CacheMessage> = v.variant('do', [
  v.strictObject({ do: v.literal('invalidate'), keys: keysOfMessage }),
  v.strictObject({ do: v.literal('warm'), keys: keysOfMessage, ttlMs }),
]) as v.GenericSchema<unknown, CacheMessage>

/** To tables. */
export type TableMessage = { readonly do: 'refresh' }

export const tableMessage: v.GenericSchema<unknown, TableMessage> = v.strictObject({
  do: v.literal('refresh'),
}) as v.GenericSchema<unknown, TableMessage>
