import * as v from 'valibot'
import type { SketchKey } from '../algorithms/sketches/top-k.ts'
import type { Duration } from '../core/duration.ts'
import { ConfigError } from '../core/errors.ts'
import { amountOrZero, count, parse, positiveSpan, shareOrZero } from '../core/schema.ts'
import type { Broadcast } from './broadcast.ts'
import type { Load } from './flights.ts'
import { heatOptions } from './heat.ts'

export const aFunction = <F>(what: string): v.GenericSchema<F> =>
  v.custom<F>((input) => typeof input === 'function', what)

const isBroadcast = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && 'publish' in input && 'subscribe' in input

/** The name of a cache or table: its path in events, its topic in a broadcast. */
export const cacheName: v.GenericSchema<string> = v.pipe(
  v.string('a name'),
  v.minLength(1, 'a name'),
  v.maxLength(100, 'a name of at most 100 characters'),
)

/** The way to the other processes. */
export const broadcastOption: v.GenericSchema<Broadcast> = v.custom<Broadcast>(
  isBroadcast,
  'an object with publish and subscribe',
)

/** What limits the size of what is kept, besides the number of entries. */
export const weightOptions = {
  /** What a value weighs, in bytes or what you like. Default: nothing. */
  weigh: v.optional(aFunction<(value: never, key: never) => number>('a function from a value and its key to a number')),
  /** The most that everything may weigh. */
  mostWeight: v.optional(amountOrZero),
}

const hotCacheOptions = v.strictObject({
  load: aFunction<Load<never, unknown>>('a function from a key to its value'),
  /** So long a value is fresh. */
  ttl: positiveSpan,
  /** Up to this part of its ttl is taken off, another for each value. Default 0.1. */
  jitter: v.optional(shareOrZero, 0.1),
  /** Values that are kept. Default 1000. */
  max: v.optional(count, 1000),
  ...weightOptions,
  ...heatOptions(100, 0.001),
  /** For so long after its ttl a value is given while a new one is loaded. Default: not at all. */
  stale: v.optional(positiveSpan),
  /** So long an error of a hot key is given without asking again. Default: not at all. */
  negative: v.optional(positiveSpan),
  /** The longest a load may take. Default 10 s. */
  within: v.optional(positiveSpan, '10s'),
  /** Loads of {@link HotCache.warm} at once. Default 4. */
  parallel: v.optional(count, 4),
  /** Names it in events and messages. Default `hotCache`. */
  name: v.optional(cacheName, 'hotCache'),
  broadcast: v.optional(broadcastOption),
})

/** See the schema above; `load` and `weigh` know their types. */
export type HotCacheOptions<K extends SketchKey, V> = Omit<
  v.InferInput<typeof hotCacheOptions>,
  'load' | 'weigh' | 'ttl'
> & {
  readonly load: Load<K, V>
  readonly ttl: Duration
  readonly weigh?: (value: V, key: K) => number
}

export type HotCacheSettings<K extends SketchKey, V> = Omit<v.InferOutput<typeof hotCacheOptions>, 'load' | 'weigh'> & {
  readonly load: Load<K, V>
  readonly weigh?: (value: V, key: K) => number
}

/** The options, checked and in milliseconds. Throws a ConfigError. */
export function hotCacheSettings<K extends SketchKey, V>(options: HotCacheOptions<K, V>): HotCacheSettings<K, V> {
  const settings = parse(hotCacheOptions as v.GenericSchema<unknown, unknown>, options, 'hotCache')
  weightsTogether(settings as HotCacheSettings<K, V>, 'hotCache')
  return settings as HotCacheSettings<K, V>
}

/** One of the two alone would limit nothing. */
export function weightsTogether(of: { readonly weigh?: unknown; readonly mostWeight?: unknown }, path: string): void {
  const [missing, given] = of.weigh === undefined ? ['weigh', 'mostWeight'] : ['mostWeight', 'weigh']
  if (of[missing as 'weigh'] !== undefined || of[given as 'weigh'] === undefined) return
  throw new ConfigError([{ path: `${path}.${missing}`, value: 'undefined', expected: `this field, beside ${given}` }])
}
