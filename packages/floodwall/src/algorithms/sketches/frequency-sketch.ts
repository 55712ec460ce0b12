import type { HashSeed } from '../keys/hash.ts'
import { RowHash } from './row-hash.ts'

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
  private readonly sample: number
  private readonly rows: RowHash
  private uses = 0

  constructor(places: number, seed: HashSeed) {
    this.rows = new RowHash(places * WIDTH, seed)
    this.counters = new Uint8Array(this.rows.width * ROWS)
    this.words = new Uint32Array(this.counters.buffer)
    this.sample = places * SAMPLE
  }

  /** Counts a use. */
  add(value: unknown): void {
    const hash = this.rows.of(value)
    const count = this.countOf(hash)
    if (count < MOST) {
      for (let row = 0; row < ROWS; row++) {
        const i = this.rows.cell(hash, row)
        if (this.counters[i] === count) this.counters[i] = count + 1
      }
    }
    if (++this.uses >= this.sample) this.age()
  }

  count(value: unknown): number {
    return this.countOf(this.rows.of(value))
  }

  private countOf(hash: number): number {
    let least = MOST
    for (let row = 0; row < ROWS; row++) least = Math.min(least, this.counters[this.rows.cell(hash, row)] as number)
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
