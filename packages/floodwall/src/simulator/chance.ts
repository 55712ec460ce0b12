// How is chance the same on every machine, and for every contender?
//
// Source: sfc32, a generator by Chris Doty-Humphrey (PractRand): a 96-bit state and a counter, additions, shifts and a rotation.
//
// Every part of a world has a stream of its own, named after it. What one part draws shifts nothing for the others: with and without a
// breaker, the same callers arrive at the same times.
//
// Integers, Math.log and Math.sqrt only. V8 carries its own logarithm (a port of fdlibm) and the square root is exact by IEEE 754, so the
// last bits agree between versions of Node; those of Math.pow, sin and cos do not have to.

/** Draws that mix the seed into the whole state. */
const WARM_UP = 16

export class Chance {
  /** 32-bit integers with a sign: above 31 bits V8 would box each. */
  private a: number
  private b: number
  private c: number
  private counter = 1
  /** The second of a pair of normal draws; NaN when it was used. */
  private spare = Number.NaN

  constructor(seed: number, name: string) {
    this.a = mixed(seed | 0, name, 0x9e3779b9)
    this.b = mixed(Math.floor(seed / 4_294_967_296) | 0, name, 0x85ebca6b)
    this.c = mixed(seed | 0, name, 0xc2b2ae35)
    for (let i = 0; i < WARM_UP; i++) this.integer()
  }

  /** Uniform in (0, 1): neither end is ever drawn, so that a logarithm of it is finite. */
  uniform(): number {
    return ((this.integer() >>> 0) + 0.5) / 4_294_967_296
  }

  /** Exponential with mean 1. */
  exponential(): number {
    return -Math.log(this.uniform())
  }

  /** Normal with mean 0 and standard deviation 1; Marsaglia's polar method, which needs no sine. */
  normal(): number {
    const { spare } = this
    this.spare = Number.NaN
    if (!Number.isNaN(spare)) return spare
    for (;;) {
      const x = 2 * this.uniform() - 1
      const y = 2 * this.uniform() - 1
      const square = x * x + y * y
      if (square >= 1 || square === 0) continue
      const scale = Math.sqrt((-2 * Math.log(square)) / square)
      this.spare = y * scale
      return x * scale
    }
  }

  /** A whole number from 0 up to and without `below`. */
  below(below: number): number {
    return Math.floor(this.uniform() * below)
  }

  private integer(): number {
    const { a, b, c } = this
    const drawn = (((a + b) | 0) + this.counter) | 0
    this.counter = (this.counter + 1) | 0
    this.a = b ^ (b >>> 9)
    this.b = (c + (c << 3)) | 0
    this.c = (((c << 21) | (c >>> 11)) + drawn) | 0
    return drawn
  }
}

/** A word of the state, of seed and name. The finaliser is that of MurmurHash3. */
function mixed(seed: number, name: string, salt: number): number {
  let hash = seed ^ salt
  for (let i = 0; i < name.length; i++) hash = finalised(Math.imul(hash, 31) + name.charCodeAt(i))
  return finalised(hash)
}

function finalised(word: number): number {
  let hash = word | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
