import { KeyHash, LONGEST_KEY } from '../keys/hash.ts'
import { milliseconds, wholeNumber } from '../stats/argument.ts'
import { fade } from '../stats/fade.ts'
import { HeavyKeeper } from './heavy-keeper.ts'
import { kept } from './text-copy.ts'

// Which keys came most often lately?
//
// Source: the heap of HeavyKeeper (Gong et al., ATC 2018) over Cormode et al., "Forward decay" (ICDE 2009). Old calls must count for less, but
// nothing is gone through for that: instead a call counts for more the later it comes, by 2^(time / half-life). All counts are in this unit,
// so that their order never changes by time alone; a reading divides by today's unit. Keys that do not come any more fade, without a timer.
//
// Half-life 10 s: 8 calls at 0 s are 8, 4 at 10 s, 2 at 20 s. A steady 10 a second settle at 10 · 10 s / ln 2 = 144.
//
// A key that is among the k is counted exactly from then on; what it had before is the sketch's estimate. A newcomer enters when it has more
// than the least of the k: one that has as much stays out.
//
// Invariant: a count is never above the true faded weight of its key (but for the sketch's collisions). The heap's root has the least count.

/** Keys as a Map takes them: 1 and '1' are two. */
export type SketchKey = string | number

export interface TopKSize {
  /** Keys that are told apart exactly. */
  readonly k: number
  /** After this a call counts for half. */
  readonly halfLifeMs: number
  /** Cells of a row of the sketch, a power of two. Default: 32 for each of the k, at least 1024. */
  readonly width?: number
  /** Default 2. */
  readonly depth?: number
}

/** A key, and its calls of late: faded, so that they need not be whole. */
export interface Counted<K extends SketchKey> {
  readonly key: K
  readonly count: number
}

/** 10,000 keys sort in a few milliseconds; who wants more wants a database. */
const MOST_K = 10_000
/** As aegis' hotkey has up to k 7; then it has 1024 · ln k. With 32 a key, 99 of the first 100 of 100,000 keys by zipf 1.01 are found. */
const LEAST_WIDTH = 1024
const CELLS_PER_KEY = 32
/** As in the paper. aegis has 4, which is twice the price for an error of 0.01 % instead of 0.02 %. */
const DEPTH = 2
/** The unit has grown to 2^32 then; a double has room for 2^1023, but nothing is gained by larger numbers. */
const MOST_HALF_LIVES = 32

class Item<K> {
  readonly key: K
  count: number
  /** Where in the heap. */
  place: number

  constructor(key: K, count: number, place: number) {
    this.key = kept(key)
    this.count = count
    this.place = place
  }
}

export class TopK<K extends SketchKey = SketchKey> {
  readonly k: number
  readonly halfLifeMs: number
  /** Weights that were none (0, negative, NaN, infinite), and texts that are nobody's key. */
  dropped = 0
  private readonly hash: KeyHash
  private readonly keeper: HeavyKeeper
  private readonly items = new Map<K, Item<K>>()
  private readonly heap: Item<K>[] = []
  private sum = 0
  private latest = Number.NEGATIVE_INFINITY
  private landmark = 0
  /** What a call counts at `latest`. */
  private unit = 1

  /**
   * @param random uniform in [0, 1); the first four are the secret of the hash, since strangers choose the keys
   * @throws RangeError naming the argument
   */
  constructor({ k, halfLifeMs, width, depth = DEPTH }: TopKSize, random: () => number) {
    this.k = wholeNumber('k', k, 1, MOST_K)
    this.halfLifeMs = milliseconds('halfLifeMs', halfLifeMs)
    this.hash = new KeyHash([random(), random(), random(), random()])
    this.keeper = new HeavyKeeper({ width: width ?? widthFor(k), depth }, random)
  }

  /** Counts a call of `key`; its count of late when it is among the k now, else 0. */
  add(key: K, now: number, weight: number = 1): number {
    if (!(weight > 0 && weight <= Number.MAX_SAFE_INTEGER) || isTooLong(key)) {
      this.dropped++
      return 0
    }
    const unit = this.advance(now)
    const added = weight * unit
    this.sum += added
    // Who has lost in every cell has come now, all the same.
    const estimate = Math.max(added, this.keeper.add(this.hashOf(key), added, unit))
    const item = this.items.get(key)
    if (item === undefined) return this.admits(key, estimate) ? estimate / unit : 0
    item.count += added
    this.sink(item)
    return item.count / unit
  }

  private hashOf(key: K): number {
    return (typeof key === 'string' ? this.hash.ofText(key) : this.hash.ofNumber(key)) >>> 0
  }

  private admits(key: K, count: number): boolean {
    const { heap, items } = this
    if (heap.length < this.k) {
      const item = new Item(key, count, heap.length)
      heap.push(item)
      items.set(item.key, item)
      this.rise(item)
      return true
    }
    const least = heap[0] as Item<K>
    if (count <= least.count) return false
    items.delete(least.key)
    const item = new Item(key, count, 0)
    items.set(item.key, item)
    this.sink(item)
    return true
  }

  /** The calls of `key` of late: exact since it is among the k, else an estimate from below. */
  count(key: K, now: number): number {
    const unit = this.advance(now)
    const item = this.items.get(key)
    if (item !== undefined) return item.count / unit
    if (isTooLong(key)) return 0
    return this.keeper.count(this.hashOf(key)) / unit
  }

  /** True when `key` is among the k. */
  has(key: K): boolean {
    return this.items.has(key)
  }

  /** All calls of late. */
  total(now: number): number {
    const unit = this.advance(now)
    return this.sum / unit
  }

  /** The k, most frequent first, equal ones by their keys; without those of whom less than half a call is left. */
  list(now: number): Counted<K>[] {
    const unit = this.advance(now)
    return this.heap
      .map(({ key, count }) => ({ key, count: count / unit }))
      .filter(({ count }) => count >= 0.5)
      .sort((a, b) => b.count - a.count || (String(a.key) < String(b.key) ? -1 : 1))
  }

  /** Moves the unit to `now`; a clock that goes back stands still. */
  private advance(now: number): number {
    if (!(now > this.latest) || now === Number.POSITIVE_INFINITY) return this.unit
    if (this.latest === Number.NEGATIVE_INFINITY) this.landmark = now
    this.latest = now
    const halfLives = (now - this.landmark) / this.halfLifeMs
    if (halfLives <= MOST_HALF_LIVES) return (this.unit = Math.exp(halfLives * Math.LN2))
    this.rebase(fade(halfLives * Math.LN2))
    this.landmark = now
    return (this.unit = 1)
  }

  private rebase(factor: number): void {
    this.keeper.scale(factor)
    for (const item of this.heap) item.count *= factor
    this.sum *= factor
  }

  /** To where no child has less. */
  private sink(item: Item<K>): void {
    const { heap } = this
    let at = item.place
    for (let child = 2 * at + 1; child < heap.length; child = 2 * at + 1) {
      const right = heap[child + 1]
      if (right !== undefined && right.count < heap[child]!.count) child++
      const least = heap[child] as Item<K>
      if (least.count >= item.count) break
      heap[at] = least
      least.place = at
      at = child
    }
    heap[at] = item
    item.place = at
  }

  /** To where the parent has no more. */
  private rise(item: Item<K>): void {
    const { heap } = this
    let at = item.place
    while (at > 0) {
      const parent = heap[(at - 1) >> 1] as Item<K>
      if (parent.count <= item.count) break
      heap[at] = parent
      parent.place = at
      at = (at - 1) >> 1
    }
    heap[at] = item
    item.place = at
  }
}

function isTooLong(key: SketchKey): boolean {
  return typeof key === 'string' && key.length > LONGEST_KEY
}

function widthFor(k: number): number {
  let width = LEAST_WIDTH
  while (width < CELLS_PER_KEY * k) width *= 2
  return width
}
