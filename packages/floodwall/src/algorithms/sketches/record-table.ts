import { type CounterCache, type CounterCacheOptions, nothingLost } from './counter-cache.ts'
import { Entry, type Loss, RecencyList } from './recency-list.ts'

// What do all counter caches have in common?
//
// A table of entries with a bound. Which of them goes when it is full, and what a use changes in that, is what they differ in.
//
// Invariant: that of `CounterCache`; whoever is in the table is in one of `lists`.

export abstract class RecordTable<K, V> implements CounterCache<K, V> {
  protected readonly loss: Loss<K, V>
  /** Those that had to stay when somebody was sought who can go. */
  protected readonly held = new RecencyList<K, V>()
  private readonly capacity: number
  private readonly onEvict: ((key: K, record: V) => void) | undefined
  private readonly table = new Map<K, Entry<K, V>>()

  constructor({ capacity, loss = nothingLost, onEvict }: CounterCacheOptions<K, V>) {
    this.capacity = capacity
    this.loss = loss
    this.onEvict = onEvict
  }

  /** All of them, first the one whose entries go first. */
  protected abstract readonly lists: readonly RecencyList<K, V>[]

  /** A new one comes in. */
  protected abstract enter(entry: Entry<K, V>): void

  /** One that is there was used. */
  protected abstract use(entry: Entry<K, V>): void

  /** Who would go; undefined: all that were looked at must stay. */
  protected abstract last(): Entry<K, V> | undefined

  get size(): number {
    return this.table.size
  }

  add(key: K, record: V): boolean {
    const known = this.table.get(key)
    if (known !== undefined) {
      known.record = record
      this.use(known)
      return true
    }
    if (this.table.size >= this.capacity && !this.evict()) return false
    const entry = new Entry(key, record)
    this.table.set(key, entry)
    this.enter(entry)
    return true
  }

  private evict(): boolean {
    const gone = this.last()
    if (gone === undefined) return false
    this.drop(gone)
    this.onEvict?.(gone.key, gone.record)
    return true
  }

  private drop(entry: Entry<K, V>): void {
    this.table.delete(entry.key)
    entry.list?.take(entry)
  }

  addIfAbsent(key: K, record: V): V | undefined {
    const known = this.get(key)
    if (known === undefined) this.add(key, record)
    return known
  }

  get(key: K): V | undefined {
    const entry = this.table.get(key)
    if (entry === undefined) return undefined
    this.use(entry)
    return entry.record
  }

  peek(key: K): V | undefined {
    return this.table.get(key)?.record
  }

  remove(key: K): boolean {
    const entry = this.table.get(key)
    if (entry !== undefined) this.drop(entry)
    return entry !== undefined
  }

  contains(key: K): boolean {
    return this.table.has(key)
  }

  keys(): K[] {
    return this.lists.flatMap((list) => [...list].map(({ key }) => key))
  }

  purge(): void {
    this.table.clear()
    for (const list of this.lists) list.clear()
  }
}
