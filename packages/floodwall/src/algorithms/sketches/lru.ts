import type { CounterCache, CounterCacheOptions } from './counter-cache.ts'
import { type Entry, RecencyList } from './recency-list.ts'
import { RecordTable } from './record-table.ts'

// Which counters stay, if those stay that were used last?
//
// Source: least recently used, as in the `LRU` of alibaba/sentinel-golang's hot parameters. An add and a get count as uses. The one that was used
// longest ago goes, unless it must stay, or there is one among the eight oldest that would be missed less.
//
// Capacity 2: a, b, get a, c: b goes.
//
// Invariant: with no losses, the keys are those of the last `capacity` different uses.

class Lru<K, V> extends RecordTable<K, V> {
  private readonly recent = new RecencyList<K, V>()
  protected readonly lists = [this.recent, this.held]

  protected enter(entry: Entry<K, V>): void {
    this.recent.push(entry)
  }

  protected use(entry: Entry<K, V>): void {
    this.recent.push(entry)
  }

  protected last(): Entry<K, V> | undefined {
    const { recent, held, loss } = this
    if (held.size > 0) recent.takeBack(loss, held)
    return recent.leastMissed(loss, held)
  }
}

/** Keeps those that were used last. */
export function lru<K, V>(options: CounterCacheOptions<K, V>): CounterCache<K, V> {
  return new Lru(options)
}
