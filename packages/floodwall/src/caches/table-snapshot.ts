/**
 * A table as it was loaded once: it never changes, whatever is loaded later. Who reads several rows that belong together takes one. The values are
 * those that `load` gave, shared by all readers.
 */
export class TableSnapshot<K, V> {
  /** 1 for the first load that was taken, then 2, 3 ... */
  readonly version: number
  /** When its load had ended, on the runtime's clock. */
  readonly loadedAt: number
  private readonly rows: ReadonlyMap<K, V>

  constructor(rows: ReadonlyMap<K, V>, version: number, loadedAt: number) {
    this.rows = rows
    this.version = version
    this.loadedAt = loadedAt
  }

  get size(): number {
    return this.rows.size
  }

  get(key: K): V | undefined {
    return this.rows.get(key)
  }

  has(key: K): boolean {
    return this.rows.has(key)
  }

  entries(): IterableIterator<[K, V]> {
    return this.rows.entries()
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.rows.entries()
  }
}
