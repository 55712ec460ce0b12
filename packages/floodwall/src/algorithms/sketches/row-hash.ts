import { type HashSeed, KeyHash, LONGEST_KEY } from '../keys/hash.ts'

// Which cells of a sketch are a value's?
//
// One in each row. The rows are one hash, mixed anew for each: the finaliser of MurmurHash3, of which the seed is not known to strangers.
//
// Invariant: equal values (as in a Map) have the same cells.

export class RowHash {
  /** Cells of a row, a power of two. */
  readonly width: number
  private readonly hash: KeyHash

  /** Rows of at least `cells`. */
  constructor(cells: number, seed: HashSeed) {
    let width = 4
    while (width < cells) width *= 2
    this.width = width
    this.hash = new KeyHash(seed)
  }

  of(value: unknown): number {
    if (typeof value === 'number') return this.hash.ofNumber(value)
    const text = typeof value === 'string' ? value : `${typeof value} ${String(value)}`
    return this.hash.ofText(text.length > LONGEST_KEY ? text.slice(0, LONGEST_KEY) : text)
  }

  /** The cell in `row` of who has this hash; rows lie one behind the other. */
  cell(hash: number, row: number): number {
    let h = (hash + Math.imul(row, 0x9e3779b9)) | 0
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    return row * this.width + ((h ^ (h >>> 16)) & (this.width - 1))
  }
}
