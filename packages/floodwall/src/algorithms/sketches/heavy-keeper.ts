import { wholeNumber } from '../stats/argument.ts'

// How often did a key come, when there are more keys than memory?
//
// Source: Gong et al., "HeavyKeeper: An Accurate Algorithm for Finding Top-k Elephant Flows" (USENIX ATC 2018). Rows of cells, each with the
// fingerprint of one key and its count. A key adds to its cells; in a cell of another it wears the count down, by one with probability
// b^-count: small counts give way at once, large ones practically never. So the many rare keys wear each other down, and the few frequent
// ones stay.
//
// b 1.08, a cell with count 20: one visit of another key lowers it with probability 1.08^-20 = 0.21; with count 200 it is 2 in 10 million.
//
// Weights need not be 1, and the price does not grow with them: how many units pass before the next that wears is drawn at once (it is
// geometric). The counts are in a unit that the caller moves: see top-k.ts, where older calls count for less.
//
// Invariant: an estimate is never above the true weight of its key and of those with the same hash (1 in 2^32 pairs of keys).

export interface HeavyKeeperSize {
  /** Cells of a row, a power of two. */
  readonly width: number
  /** Rows: in how many cells a key lies. */
  readonly depth: number
}

/** 1 / b. The paper recommends b = 1.08; aegis has 0.925, its reciprocal to three digits. */
const WEAR = 1 / 1.08

/** From this count on a cell is not worn down: 1.08^-256 is 3e-9, and the table ends. aegis draws on, at that probability. */
const FIRM = 256

/** 2^32 over the golden ratio, as in Knuth's multiplicative hashing. */
const GOLDEN = 0x9e3779b1

/** 16 million cells, 192 MB: more is a typing error. */
const MOST_WIDTH = 16_777_216
const MOST_DEPTH = 16

export class HeavyKeeper {
  private readonly width: number
  private readonly depth: number
  private readonly random: () => number
  /** Whose count it is: fingerprints, row after row. */
  private readonly owners: Uint32Array
  /** 0: nobody's. */
  private readonly counts: Float64Array
  /** The probability to wear a count down by one, by its whole part. */
  private readonly odds = new Float64Array(FIRM)

  /**
   * @param random uniform in [0, 1)
   * @throws RangeError naming the argument
   */
  constructor({ width, depth }: HeavyKeeperSize, random: () => number) {
    this.width = wholeNumber('width', width, 1, MOST_WIDTH)
    if ((width & (width - 1)) !== 0) throw new RangeError(`width is ${width}, expected a power of two`)
    this.depth = wholeNumber('depth', depth, 1, MOST_DEPTH)
    this.random = random
    this.owners = new Uint32Array(width * depth)
    this.counts = new Float64Array(width * depth)
    let odds = 1
    for (let i = 0; i < FIRM; i++, odds *= WEAR) this.odds[i] = odds
  }

  /**
   * Adds `weight` to the key with this hash of 32 bits, and says the largest of its counts. Both are in units: one call is `unit`. Both above 0
   * and finite.
   */
  add(hash: number, weight: number, unit: number): number {
    const { owners, counts, width } = this
    const step = stepOf(hash)
    let most = 0
    let column = hash
    for (let row = 0; row < this.depth; row++, column += step) {
      const at = row * width + (column & (width - 1))
      const held = counts[at]!
      let count = 0
      if (held === 0) {
        owners[at] = hash
        count = counts[at] = weight
      } else if (owners[at] === hash) count = counts[at] = held + weight
      else count = this.wear(at, hash, weight, unit)
      if (count > most) most = count
    }
    return most
  }

  /** Wears down what is another's; the key's own count, if the cell is its own now. */
  private wear(at: number, key: number, weight: number, unit: number): number {
    const { counts, random, odds } = this
    let held = counts[at]! / unit
    let left = weight / unit
    while (left > 0 && held < FIRM) {
      const probability = odds[Math.floor(held)]!
      const dice = random()
      if (dice >= probability) {
        // The usual case: one call, and it did not wear.
        if (left <= 1) break
        const idle = Math.floor(Math.log(1 - dice) / Math.log(1 - probability))
        if (idle >= left) break
        left -= idle
      }
      held -= Math.min(1, left)
      if (held <= 0) {
        this.owners[at] = key
        return (counts[at] = left * unit)
      }
      counts[at] = held * unit
      left -= 1
    }
    return 0
  }

  /** The largest count of the key with this hash; 0 when no cell is its own. */
  count(hash: number): number {
    const { owners, counts, width } = this
    const step = stepOf(hash)
    let most = 0
    let column = hash
    for (let row = 0; row < this.depth; row++, column += step) {
      const at = row * width + (column & (width - 1))
      if (owners[at] === hash && counts[at]! > most) most = counts[at]!
    }
    return most
  }

  /** Multiplies every count: a change of the unit. */
  scale(factor: number): void {
    const { counts } = this
    for (let i = 0; i < counts.length; i++) counts[i]! *= factor
  }
}

/** From one row's column to the next: odd, so that it meets all of them, and of bits that the first column has not seen. */
function stepOf(hash: number): number {
  return (Math.imul(hash, GOLDEN) >>> 8) | 1
}
