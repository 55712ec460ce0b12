import { type HashSeed, KeyHash, LONGEST_KEY } from '../keys/hash.ts'

// How often was this value used lately, roughly, in a few bytes a value?
//
// Source: the count-min sketch (Cormode and Muthukrishnan 2005) with conservative update (Estan and Varghese 2002) and the aging of TinyLFU
// (Einziger, Friedman and Manes 2017): four counters for each value, of which the smallest is least wrong; after ten times as many uses as there are
// places all counters are halved, so that what was often used long ago is forgotten.
//
// 1000 places: 4 rows of 2048 bytes; after 10,000 uses a count of 12 becomes 6.
//
// Invariant: never less than the true count since the last halving, up to 15; the memory never grows.

const ROWS = 4
/** More is "often" all the same: four bits, in the paper and in Caffeine. */
const MOST = 15
/** Uses between two halvings, for each place: the paper's W/C of about 10. */
const SAMPLE = 10
/** Counters of a row for each place. */
const WIDTH = 2
const HALVES = 0x7f7f7f7f

export class FrequencySketch {
  private readonly counters: Uint8Array
  /** The same bytes, four at a time. */
  private readonly words: Uint32Array
  private readonly mask: number
  private readonly sample: number
  private readonly hash: KeyHash
  private uses = 0

  constructor(places: number, seed: HashSeed) {
    let width = 4
    while (width < places * WIDTH) width *= 2
    this.counters = new Uint8Array(width * ROWS)
    this.words = new Uint32Array(this.counters.buffer)
    this.mask = width - 1
    this.sample = places * SAMPLE
    this.hash = new KeyHash(seed)
  }

  /** The rows are one hash, mixed anew for each: the finaliser of MurmurHash3. */
  private at(hash: number, row: number): number {
    let h = (hash + Math.imul(row, 0x9e3779b9)) | 0
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    return row * (this.mask + 1) + ((h ^ (h >>> 16)) & this.mask)
  }

  private hashOf(value: unknown): number {
    if (typeof value === 'number') return this.hash.ofNumber(value)
    const text = typeof value === 'string' ? value : `${typeof value} ${String(value)}`
    return this.hash.ofText(text.length > LONGEST_KEY ? text.slice(0, LONGEST_KEY) : text)
  }

  /** Counts a use. */
  add(value: unknown): void {
    const hash = this.hashOf(value)
    const count = this.countOf(hash)
    if (count < MOST) {
      for (let row = 0; row < ROWS; row++) {
        const i = this.at(hash, row)
        if (this.counters[i] === count) this.counters[i] = count + 1
      }
    }
    if (++this.uses >= this.sample) this.age()
  }

  count(value: unknown): number {
    return this.countOf(this.hashOf(value))
  }

  private countOf(hash: number): number {
    let least = MOST
    for (let row = 0; row < ROWS; row++) least = Math.min(least, this.counters[this.at(hash, row)] as number)
    return least
  }

  private age(): void {
    const { words } = this
    for (let i = 0; i < words.length; i++) words[i] = ((words[i] as number) >>> 1) & HALVES
    this.uses = 0
  }

  clear(): void {
    this.counters.fill(0)
    this.uses = 0
  }
}
