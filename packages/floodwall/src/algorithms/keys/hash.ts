// Which place in a table belongs to a key, if strangers choose the keys?
//
// Source: the Multilinear-HM family of Lemire and Kaser, "Strongly universal string hashing is fast" (2014): characters go in pairs, each is added to a
// secret word, and the two are multiplied; of the sum of all products the top 16 of 32 bits are kept. Two such sums give 32 bits, the second over
// the words that come one pair later. For any two keys, each pair of results is as likely as any other over the choice of the words: the difference is a
// sum of words times differences of characters, and in the second sum the last of these has a word that the first one does not have. A fixed bijection
// after it (the finaliser of MurmurHash3) changes nothing of that, and breaks the straight lines that consecutive keys would make. FNV, or Murmur with
// a seed, have keys that collide under every seed.
//
// To read a character is nearly all of the price (1.7 of 1.8 ns): words are read once for both sums, and pairs halve the steps. Each sum is cut
// to 32 bits at once: V8 would look for an overflow otherwise.
//
// "ann": x = x0 + 3·x1 + (w0 + 97)(w1 + 110) + (w2 + 110)(w3 + 0), y = y0 + 3·y1 + (w2 + 97)(w3 + 110) + (w4 + 110)(w5 + 0); the hash is mix(top half
// of x, top half of y).
//
// Invariant: who does not know the words makes any two keys of at most LONGEST_KEY characters collide once in 2^32; equal keys (as in a Map)
// have equal hashes.

/** Longer texts are nobody's key: each would be kept. An address, an account or a token of a gateway is far shorter. */
export const LONGEST_KEY = 1024

/** Characters for which there are words at the beginning. */
const FIRST_CHARACTERS = 64
/** Words before those of the characters; of each sum: a constant, one for the length, and one for each 16-bit part of a number. */
const LEAD = 12
/** Words beyond that of the last character: it may be half a pair, and the second sum is a pair ahead. */
const BEYOND = 3
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
    this.extend(FIRST_CHARACTERS)
  }

  ofText(key: string): number {
    const { length } = key
    if (LEAD + length + BEYOND > this.words.length) this.extend(length)
    const { words } = this
    let x = (words[0]! + Math.imul(words[2]!, length)) | 0
    let y = (words[1]! + Math.imul(words[3]!, length)) | 0
    let a = words[LEAD]!
    let b = words[LEAD + 1]!
    const even = length & ~1
    for (let i = 0; i < even; i += 2) {
      const first = key.charCodeAt(i)
      const second = key.charCodeAt(i + 1)
      const c = words[LEAD + 2 + i]!
      const d = words[LEAD + 3 + i]!
      x = (x + Math.imul((a + first) | 0, (b + second) | 0)) | 0
      y = (y + Math.imul((c + first) | 0, (d + second) | 0)) | 0
      a = c
      b = d
    }
    if (even < length) {
      const last = key.charCodeAt(even)
      x = (x + Math.imul((a + last) | 0, b)) | 0
      y = (y + Math.imul((words[LEAD + 2 + even]! + last) | 0, words[LEAD + 3 + even]!)) | 0
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
    let size = FIRST_CHARACTERS
    while (size < length) size *= 2
    const words = new Int32Array(LEAD + size + BEYOND)
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
