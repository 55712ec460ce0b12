// What is kept, when not everything can be?
//
// Source: the clock (second-chance) page replacement of Corbató, "A Paging Experiment with the Multics System" (1968), over the order of a Map:
// the oldest goes, unless it was used since; then it becomes the youngest. A hit writes one bit, where an LRU would move the entry.
//
// max 2, a and b kept, a used, then c: a is spared, b goes.
//
// Invariant: at most `max` entries, of at most `mostWeight` together.

/** What is kept of a key. */
export class Entry<V> {
  /** A value, or an error that is told for a while. */
  readonly answer: { readonly ok: true; readonly value: V } | { readonly ok: false; readonly error: unknown }
  /** Fresh before this time. */
  readonly until: number
  /** Better than nothing before this time; not before `until`. */
  readonly staleUntil: number
  readonly weight: number
  /** No refill of a stale value before this time. */
  refillAt = 0
  /** Since the hand of the clock came by. */
  used = false

  constructor(answer: Entry<V>['answer'], until: number, staleUntil: number, weight: number) {
    this.answer = answer
    this.until = until
    this.staleUntil = staleUntil
    this.weight = weight
  }
}

export class Entries<K, V> {
  /** Entries that made room for others. */
  evicted = 0
  weight = 0
  private readonly max: number
  private readonly mostWeight: number
  private readonly map = new Map<K, Entry<V>>()

  constructor(max: number, mostWeight: number) {
    this.max = max
    this.mostWeight = mostWeight
  }

  get size(): number {
    return this.map.size
  }

  /** Looks without using. */
  peek(key: K): Entry<V> | undefined {
    return this.map.get(key)
  }

  /** Keeps `entry`, unless it alone is too heavy: then the key has none. True when it is kept. */
  set(key: K, entry: Entry<V>): boolean {
    this.delete(key)
    if (entry.weight > this.mostWeight) return false
    while (this.map.size >= this.max || this.weight + entry.weight > this.mostWeight) this.evict()
    this.map.set(key, entry)
    this.weight += entry.weight
    return true
  }

  delete(key: K): boolean {
    const entry = this.map.get(key)
    if (entry === undefined) return false
    this.map.delete(key)
    // Sums of fractions do not come back to 0 by themselves.
    this.weight = this.map.size === 0 ? 0 : this.weight - entry.weight
    return true
  }

  clear(): void {
    this.map.clear()
    this.weight = 0
  }

  /** One goes. Ends: who was spared once is not spared again before he is used again. */
  private evict(): void {
    for (const [key, entry] of this.map) {
      if (!entry.used) {
        this.delete(key)
        this.evicted++
        return
      }
      entry.used = false
      this.map.delete(key)
      this.map.set(key, entry)
    }
  }
}
