import { grown } from './debts.ts'
import { type KeyHash, LONGEST_KEY } from './hash.ts'

// Whose is it? A small whole number for each key, the same as long as the key is known.
//
// Source: open addressing with linear probing and backward-shift deletion (Knuth, "The Art of Computer Programming" 3, 6.4, algorithm R). A
// place of the index is one number: a slot, and above it 8 bits of the hash, so that one wrong key of 256 is looked at. So 10^5 keys take a
// megabyte, of which more stays in the caches than of two. The whole hash lies by slot, for what moves. A Map of a million keys weighs twice as
// much, and stands still for a tenth of a second whenever it grows: here the new index takes over some places with every step.
//
// 1000 keys in 2048 places: a key that is there is found after 1.5 looks in the middle, one that is not is known after 2.5.
//
// Invariant: keys are equal as in a Map (1 and "1" are two, NaN is one, 0 and -0 are one); a slot belongs to one key until `remove`; slots are
// 1 to `high`; at most 5/8 of the places are taken.

export type Key = string | number

/** `find`: no key that could have a slot. */
export const NOBODY = -1

const FIRST_PLACES = 16
/** Places are doubled beyond 5/8: a look is still 1.8 places long in the middle, and a million keys fit into 2^21. */
const FULL = 5 / 8
/** Places that a step moves to the new index: it is done long before that one is full as well. */
const MOVES = 32
/** Nobody comes as far by chance; somebody who has guessed the secret gets no slot, and makes nobody wait. */
const FARTHEST = 256
/** V8's SlicedString::kMinLength; shorter parts are copies. */
const LEAST_SLICE = 13
/** A place: the slot below, and of the hash what is above. Slots are below 2^24, more than there can be keys. */
const SLOT = 0xffffff
const TAG = ~SLOT
/** A place of the old index whose key has moved on or left: of slot 0, which has no key. */
const GONE = TAG

export class KeyTable {
  size = 0
  /** The greatest slot so far. */
  high = 0
  private readonly hash: KeyHash
  /** By slot; undefined: free. */
  private readonly keys: (Key | undefined)[] = [undefined]
  private readonly free: number[] = []
  /** By slot; of one that is free: of the key before. */
  private hashes = new Int32Array(FIRST_PLACES)
  /** Slots with a part of the hash; 0: empty. */
  private index = new Int32Array(FIRST_PLACES)
  /** The index before, until all has moved; its places are empty only where they always were. */
  private old: Int32Array | null = null
  private moved = 0
  /** The hash of the key that was looked for last, but for one that was found without it. */
  private sought = 0
  /** Who was found last, and who twice in a row; 0: nobody, or he has left since. */
  private last = 0
  private twice = 0

  constructor(hash: KeyHash) {
    this.hash = hash
  }

  /** The slot of `key`; 0 when it has none, {@link NOBODY} for what can have none: other types, and longer texts than {@link LONGEST_KEY}. */
  find(key: unknown): number {
    // Once more the same key, as of a client that sends many at once. Asked only after it came twice: to compare two texts is not free.
    if (this.twice > 0 && this.keys[this.twice] === key) return this.twice
    if (typeof key === 'string') return key.length > LONGEST_KEY ? NOBODY : this.findText(key)
    return typeof key === 'number' ? this.findNumber(key) : NOBODY
  }

  // Two ways that read alike: what is compared is always a text in one of them, and V8 has a short way for that.
  private findText(key: string): number {
    const { index, keys } = this
    const mask = index.length - 1
    const hash = this.hash.ofText(key)
    this.sought = hash
    for (let at = hash & mask, place = index[at]!; place !== 0; place = index[at]!) {
      if (((place ^ hash) & TAG) === 0 && keys[place & SLOT] === key) return this.met(place & SLOT)
      at = (at + 1) & mask
    }
    return this.old === null ? 0 : this.findOld(key, hash)
  }

  private findNumber(key: number): number {
    const hash = this.hash.ofNumber(key)
    this.sought = hash
    const slot = this.slotIn(this.index, key, hash)
    if (slot !== 0) return this.met(slot)
    return this.old === null ? 0 : this.findOld(key, hash)
  }

  private met(slot: number): number {
    this.twice = slot === this.last ? slot : 0
    this.last = slot
    return slot
  }

  /** The slot of `key` in an index, or 0. */
  private slotIn(index: Int32Array, key: Key, hash: number): number {
    const mask = index.length - 1
    for (let at = hash & mask, place = index[at]!; place !== 0; place = index[at]!) {
      if (((place ^ hash) & TAG) === 0 && isSame(this.keys[place & SLOT], key)) return place & SLOT
      at = (at + 1) & mask
    }
    return 0
  }

  private findOld(key: Key, hash: number): number {
    const slot = this.slotIn(this.old as Int32Array, key, hash)
    this.move(MOVES)
    return slot
  }

  /** A slot for the key that `find` has just not found; 0 when there is none for it. The text that is kept is ours alone. */
  add(key: Key): number {
    return this.put(typeof key === 'string' ? copied(key) : key)
  }

  /** As `add`, of a key that was kept before. */
  put(key: Key): number {
    if (this.size + 1 > this.index.length * FULL) this.grow()
    else if (this.old !== null) this.move(MOVES)
    const slot = this.free.at(-1) ?? this.high + 1
    if (slot > SLOT || !this.enter(this.sought, slot, FARTHEST)) return 0
    this.free.pop()
    this.size++
    if (slot > this.high) {
      this.high = slot
      this.keys.push(key)
      if (slot >= this.hashes.length) this.hashes = grown(this.hashes, new Int32Array(2 * this.hashes.length))
    } else this.keys[slot] = key
    this.hashes[slot] = this.sought
    return slot
  }

  private enter(hash: number, slot: number, farthest: number): boolean {
    const { index } = this
    const mask = index.length - 1
    let at = hash & mask
    for (let looks = 0; index[at] !== 0; looks++) {
      if (looks >= farthest) return false
      at = (at + 1) & mask
    }
    index[at] = (hash & TAG) | slot
    return true
  }

  private grow(): void {
    this.move(Number.POSITIVE_INFINITY)
    this.old = this.index
    this.moved = 0
    this.index = new Int32Array(2 * this.old.length)
  }

  /** The next places of the old index, to the new one. */
  private move(places: number): void {
    const { old } = this
    if (old === null) return
    const end = Math.min(old.length, this.moved + places)
    for (let at = this.moved; at < end; at++) {
      const slot = old[at]! & SLOT
      if (slot === 0) continue
      old[at] = GONE
      this.enter(this.hashes[slot]!, slot, Number.POSITIVE_INFINITY)
    }
    this.moved = end
    if (end === old.length) this.old = null
  }

  /** Its key is forgotten, the slot free for another. */
  remove(slot: number): void {
    if (this.keys[slot] === undefined) return
    if (slot === this.last) this.last = this.twice = 0
    const at = this.placeOf(this.index, slot)
    if (at >= 0) this.close(at)
    else if (this.old !== null) this.old[this.placeOf(this.old, slot)] = GONE
    this.keys[slot] = undefined
    this.free.push(slot)
    this.size--
  }

  /** Where in an index a slot is, or -1. */
  private placeOf(index: Int32Array, slot: number): number {
    const mask = index.length - 1
    for (let at = this.hashes[slot]! & mask; index[at] !== 0; at = (at + 1) & mask)
      if ((index[at]! & SLOT) === slot) return at
    return -1
  }

  /** Empties a place: those behind it that would be cut off move up. */
  private close(at: number): void {
    const { index, hashes } = this
    const mask = index.length - 1
    let hole = at
    for (let next = (at + 1) & mask; index[next] !== 0; next = (next + 1) & mask) {
      const home = hashes[index[next]! & SLOT]! & mask
      if (((next - home) & mask) < ((next - hole) & mask)) continue
      index[hole] = index[next]!
      hole = next
    }
    index[hole] = 0
  }

  /** The key of a slot; undefined when it is free. */
  keyOf(slot: number): Key | undefined {
    return this.keys[slot]
  }
}

/**
 * The same text in memory of its own. V8 cuts a part of {@link LEAST_SLICE} characters or more out of a text by pointing into it: kept for itself, it
 * would keep the whole head of a request that it was cut out of. Written unit by unit it is flat: to compare with one that points elsewhere takes
 * twice as long, and a key is looked for more often than it comes (sketches/text-copy.ts makes the other choice).
 */
function copied(key: string): string {
  if (key.length < LEAST_SLICE) return key
  const units: number[] = []
  for (let i = 0; i < key.length; i++) units.push(key.charCodeAt(i))
  return String.fromCharCode(...units)
}

/** As a Map compares. */
function isSame(a: Key | undefined, b: Key): boolean {
  return a === b || (typeof a === 'number' && Number.isNaN(a) && typeof b === 'number' && Number.isNaN(b))
}
