// Who was used least lately?
//
// A list in the order of the last use: who is used goes to its newer end. Counter caches have one or several of them; an entry knows in which it is.
//
// a, b, c used in this order, then a: b is the oldest.
//
// Invariant: an entry is in one list or in none; each step costs the same, however long the list.

/** A record in its place. */
export class Entry<K, V> {
  readonly key: K
  record: V
  /** @internal */ list: RecencyList<K, V> | null = null
  /** @internal */ older: Entry<K, V> | null = null
  /** @internal */ newer: Entry<K, V> | null = null

  constructor(key: K, record: V) {
    this.key = key
    this.record = record
  }
}

/** What would be lost with a record; see `CounterCacheOptions`. */
export type Loss<K, V> = (record: V, key: K) => number

/** A search looks at no more than this, so that an add has a bound: as `keyed` does. */
const SEARCH_STEPS = 8

export class RecencyList<K, V> {
  size = 0
  oldest: Entry<K, V> | null = null
  private newest: Entry<K, V> | null = null

  /** Used now; from whatever list it was in. */
  push(entry: Entry<K, V>): void {
    if (this.newest === entry) return
    entry.list?.take(entry)
    entry.list = this
    entry.older = this.newest
    if (this.newest === null) this.oldest = entry
    else this.newest.newer = entry
    this.newest = entry
    this.size++
  }

  /** @internal Used longest ago. */
  unshift(entry: Entry<K, V>): void {
    entry.list?.take(entry)
    entry.list = this
    entry.newer = this.oldest
    if (this.oldest === null) this.newest = entry
    else this.oldest.older = entry
    this.oldest = entry
    this.size++
  }

  take(entry: Entry<K, V>): void {
    const { older, newer } = entry
    if (older === null) this.oldest = newer
    else older.newer = newer
    if (newer === null) this.newest = older
    else newer.older = older
    entry.list = entry.older = entry.newer = null
    this.size--
  }

  clear(): void {
    this.oldest = this.newest = null
    this.size = 0
  }

  *[Symbol.iterator](): Generator<Entry<K, V>> {
    for (let entry = this.oldest; entry !== null; entry = entry.newer) yield entry
  }

  /**
   * Of the oldest, the one that would be missed least, and the older one of equals. Those that must stay move to `held`, where they are in nobody's
   * way: a thousand of them at the end of the list would hide all others from a search that has a bound.
   */
  leastMissed(loss: Loss<K, V>, held: RecencyList<K, V>): Entry<K, V> | undefined {
    let best: Entry<K, V> | undefined
    let least = Number.POSITIVE_INFINITY
    let entry = this.oldest
    for (let step = 0; step < SEARCH_STEPS && entry !== null; step++) {
      const { newer }: Entry<K, V> = entry
      const missed = loss(entry.record, entry.key)
      if (missed <= 0) return entry
      if (missed === Number.POSITIVE_INFINITY) held.push(entry)
      else if (!(missed >= least)) {
        best = entry
        least = missed
      }
      entry = newer
    }
    return best
  }

  /** Those of `held` that need not stay any more come back, as the oldest. */
  takeBack(loss: Loss<K, V>, held: RecencyList<K, V>): void {
    for (let step = 0; step < SEARCH_STEPS && held.oldest !== null; step++) {
      const entry: Entry<K, V> = held.oldest
      if (loss(entry.record, entry.key) < Number.POSITIVE_INFINITY) this.unshift(entry)
      else {
        // To its end, so that the next look begins with others.
        held.take(entry)
        held.push(entry)
      }
    }
  }
}
