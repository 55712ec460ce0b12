// Which place in a table belongs to a key, if strangers choose the keys?
//
// Source: the Multilinear family of Lemire and Kaser, "Strongly universal string hashing is fast" (2014): a sum of secret words times the
// characters, of which the top 16 of 32 bits are kept. Two such sums give 32 bits. For any two keys, each pair of results is as likely as any
// other over the choice of the words; a fixed bijection after it (the finaliser of MurmurHash3) changes nothing of that, and breaks the straight
// lines that consecutive keys would make. FNV, or Murmur with a seed, have keys that collide under every seed. To read a character costs more than both
// products: one sum over bytes, with a branch for wide characters, was half slower.
//
// "ann": x = x0 + 3·x1 + 97·x2 + 110·x3 + 110·x4, y the same with other words; the hash is mix(top half of x, top half of y).
//
// Invariant: who does not know the words makes any two keys of at most LONGEST_KEY characters collide once in 2^32; equal keys (as in a Map)
// have equal hashes.

/** Longer texts are nobody's key: each would be kept. An address, an account or a token of a gateway is far shorter. */
export const LONGEST_KEY = 1024

/** Characters for which there are words at the beginning. */
const FIRST_WORDS = 64
/** Pairs of words before those of the characters: the constant, the length, and four 16-bit parts of a number. */
const LEAD = 6
/** What all NaN hash to, as the parts of a number that is none. */
const NAN_PARTS = 0x7ff8

/** Four numbers in [0, 1): the secret of a table. */
export type HashSeed = readonly [number, number, number, number]

export class KeyHash {
  private words: Int32Array = new Int32Array(0)
  private readonly state: Int32Array
  private readonly double = new Float64Array(1)
  private readonly parts = new Uint16Array(this.double.buffer)

  constructor(seed: HashSeed) {
    this.state = Int32Array.from(seed, (share) => Math.floor(share * 4_294_967_296) | 0)
    // The first words of the generator depend on a part of its state only.
    for (let i = 0; i < 12; i++) this.word()
    this.extend(FIRST_WORDS)
  }

  ofText(key: string): number {
    const { length } = key
    if ((length + LEAD) * 2 > this.words.length) this.extend(length)
    const { words } = this
    let x = words[0]! + Math.imul(words[2]!, length)
    let y = words[1]! + Math.imul(words[3]!, length)
    for (let i = 0, at = 2 * LEAD; i < length; i++, at += 2) {
      const unit = key.charCodeAt(i)
      x = (x + Math.imul(words[at]!, unit)) | 0
      y = (y + Math.imul(words[at + 1]!, unit)) | 0
    }
    return finished(x, y)
  }

  ofNumber(key: number): number {
    if ((key | 0) === key) return this.ofParts(key & 0xffff, key >>> 16, 0, 0)
    if (Number.isNaN(key)) return this.ofParts(0, 0, 0, NAN_PARTS)
    const { parts } = this
    this.double[0] = key
    return this.ofParts(parts[0]!, parts[1]!, parts[2]!, parts[3]!)
  }

  private ofParts(a: number, b: number, c: number, d: number): number {
    const { words } = this
    const x = words[0]! + Math.imul(words[4]!, a) + Math.imul(words[6]!, b)
    const y = words[1]! + Math.imul(words[5]!, a) + Math.imul(words[7]!, b)
    return finished(
      (x + Math.imul(words[8]!, c) + Math.imul(words[10]!, d)) | 0,
      (y + Math.imul(words[9]!, c) + Math.imul(words[11]!, d)) | 0,
    )
  }

  /** Words for keys of so many characters; those that were there stay. */
  private extend(length: number): void {
    let size = FIRST_WORDS
    while (size < length) size *= 2
    const words = new Int32Array((size + LEAD) * 2)
    words.set(this.words)
    for (let i = this.words.length; i < words.length; i++) words[i] = this.word()
    this.words = words
  }

  /** One step of sfc32 (Doty-Humphrey, PractRand): 128 bits of state, no short cycles, and only 32-bit arithmetic. */
  private word(): number {
    const { state } = this
    const [a = 0, b = 0, c = 0, d = 0] = state
    const word = (((a + b) | 0) + d) | 0
    state[0] = b ^ (b >>> 9)
    state[1] = (c + (c << 3)) | 0
    state[2] = (((c << 21) | (c >>> 11)) + word) | 0
    state[3] = (d + 1) | 0
    return word
  }
}

function finished(x: number, y: number): number {
  let hash = (x & 0xffff0000) | (y >>> 16)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
