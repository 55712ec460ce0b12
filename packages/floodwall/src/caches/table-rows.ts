// Is the table as small as it was meant to be?
//
// Rows are counted while they come: one that has grown without end must not fill the memory of every process before it is refused.
//
// most 100,000, and the source gives 2 million: the 100,001st is the last that is looked at.

export interface TableLimits<K, V> {
  /** Rows. */
  readonly most: number
  readonly weigh: ((value: V, key: K) => number) | undefined
  /** Of all rows together. */
  readonly mostWeight: number
}

/** The table is larger than it may be. */
export class TableTooLargeError extends RangeError {
  override get name(): string {
    return 'TableTooLargeError'
  }
}

export interface TableRows<K, V> {
  readonly rows: ReadonlyMap<K, V>
  readonly weight: number
}

/** The rows of `source`, the last of equal keys. Throws a {@link TableTooLargeError}, a TypeError for what is no row, and what the source throws. */
export function rowsOf<K, V>(source: Iterable<readonly [K, V]>, limits: TableLimits<K, V>): TableRows<K, V> {
  const { most, weigh, mostWeight } = limits
  const rows = new Map<K, V>()
  let weight = 0
  let seen = 0
  for (const row of source) {
    // Equal keys too: an endless source may repeat itself.
    if (++seen > most) throw new TableTooLargeError(`it has more than ${most} rows`)
    if (!Array.isArray(row) || row.length !== 2) throw new TypeError(`row ${seen} is no [key, value]`)
    const [key, value] = row as readonly [K, V]
    if (weigh !== undefined) {
      const added = weigh(value, key)
      if (!(added >= 0)) throw new TypeError(`row ${seen} weighs ${added}`)
      weight += added
      if (weight > mostWeight) throw new TableTooLargeError(`it weighs more than ${mostWeight} with row ${seen}`)
    }
    rows.set(key, value)
  }
  return { rows, weight }
}
