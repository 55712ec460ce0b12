import type { HashSeed } from '../keys/hash.ts'

// Which values have a counter, when there may be more values than counters?
//
// Source: the counter cache of the hot parameters in alibaba/sentinel-golang (`ConcurrentCounterCache`: add, addIfAbsent, get, remove, contains,
// keys, len, purge, and the callback of its LRU). Without locks, since nothing here runs beside anything else; with a word on what must not go.
//
// Capacity 2, a and b there, a held: c takes the place of b. With both held there is no place for c, and `add` says so.
//
// Invariant: size <= capacity; a record that must stay is never evicted; each record that was evicted is told of once.

/** Records by key, as many as there is room for. Keys are equal as in a Map: 1 and "1" are two, NaN is one. */
export interface CounterCache<K, V> {
  readonly size: number
  /** Puts a record in, in the place of another one if need be. False: there was no room, since all that were looked at must stay. */
  add(key: K, record: V): boolean
  /** The record that is there; undefined: there was none, and the given one was added if there was room. */
  addIfAbsent(key: K, record: V): V | undefined
  /** Counts as a use. */
  get(key: K): V | undefined
  /** The same, and counts as none. Who has no such method is asked by `get`. */
  peek?(key: K): V | undefined
  /** True: it was there. */
  remove(key: K): boolean
  /** Counts as no use. */
  contains(key: K): boolean
  /** First those that would go first. */
  keys(): K[]
  purge(): void
}

/** What a counter cache is made with. */
export interface CounterCacheOptions<K, V> {
  /** Records at most, from 1. */
  readonly capacity: number
  /** What would be lost with this record: 0 nothing, Infinity too much, it must stay. Default: nothing. */
  readonly loss?: ((record: V, key: K) => number) | undefined
  /** Hears of each record that made room for another one; not of what was removed or purged. */
  readonly onEvict?: ((key: K, record: V) => void) | undefined
  /** For caches that hash: four numbers in [0, 1) that strangers do not know. Default: always the same. */
  readonly seed?: HashSeed | undefined
}

/** Makes a counter cache: {@link lru}, {@link tinyLfu}, or yours. */
export type CounterCacheMaker = <K, V>(options: CounterCacheOptions<K, V>) => CounterCache<K, V>

/** @internal What is lost when nobody says. */
export const nothingLost = (): number => 0
