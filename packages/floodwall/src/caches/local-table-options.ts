import * as v from 'valibot'
import { count, parse, positiveSpan, shareOrZero } from '../core/schema.ts'
import { aFunction, broadcastOption, cacheName, weightOptions, weightsTogether } from './hot-cache-options.ts'

/** What loads the whole table. `signal` is aborted when it takes too long, and at the end of the table. */
export type TableLoad<K, V> = (
  signal: AbortSignal,
) => Iterable<readonly [K, V]> | PromiseLike<Iterable<readonly [K, V]>>

const localTableOptions = v.strictObject({
  load: aFunction<TableLoad<unknown, unknown>>('a function that gives all rows'),
  /** From the end of one load to the next. Default 1 min. */
  every: v.optional(positiveSpan, '1m'),
  /** Up to this part of it more or less, anew each time. Default 0.1. */
  jitter: v.optional(shareOrZero, 0.1),
  /** Rows. Default 100,000. */
  most: v.optional(count, 100_000),
  ...weightOptions,
  /** The longest a load may take. Default 30 s. */
  within: v.optional(positiveSpan, '30s'),
  /** Names it in events and messages. Default `localTable`. */
  name: v.optional(cacheName, 'localTable'),
  broadcast: v.optional(broadcastOption),
})

/** See the schema above; `load` and `weigh` know their types. */
export type LocalTableOptions<K, V> = Omit<v.InferInput<typeof localTableOptions>, 'load' | 'weigh'> & {
  readonly load: TableLoad<K, V>
  readonly weigh?: (value: V, key: K) => number
}

export type LocalTableSettings<K, V> = Omit<v.InferOutput<typeof localTableOptions>, 'load' | 'weigh'> & {
  readonly load: TableLoad<K, V>
  readonly weigh?: (value: V, key: K) => number
}

/** The options, checked and in milliseconds. Throws a ConfigError. */
export function localTableSettings<K, V>(options: LocalTableOptions<K, V>): LocalTableSettings<K, V> {
  const settings = parse(localTableOptions as v.GenericSchema<unknown, unknown>, options, 'localTable')
  weightsTogether(settings as LocalTableSettings<K, V>, 'localTable')
  return settings as LocalTableSettings<K, V>
}
