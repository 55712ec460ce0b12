import { MinHeap } from './min-heap.ts'
import { murmur3 } from './murmur3.ts'

// The top-k of go-kratos/aegis, number for number, to compare ours with. Tests only: it has faults that ours must not have. An absent key that
// only equals the heap's least is told as added; each add looks through the whole heap; and old calls fade only when somebody halves everything.

export interface AegisTopKOptions {
  readonly k: number
  readonly width: number
  readonly depth: number
  readonly decay: number
  readonly minCount: number
}

export interface AegisItem {
  readonly key: string
  readonly count: number
}

/** Beyond, the last entry of the table serves. */
const LOOKUP_TABLE = 256

/** Where a key belongs: its fingerprint, and its cell in each row. */
interface Places {
  readonly fingerprint: number
  readonly cells: readonly number[]
}

export class AegisTopK {
  total = 0
  private readonly options: AegisTopKOptions
  private readonly random: () => number
  private readonly fingerprints: Uint32Array
  private readonly counts: Uint32Array
  private readonly table: number[]
  private readonly heap: MinHeap
  /** Hashing is slow, and the keys are few. */
  private readonly places = new Map<string, Places>()

  constructor(options: AegisTopKOptions, random: () => number) {
    const { k, width, depth, decay } = options
    this.options = options
    this.random = random
    this.fingerprints = new Uint32Array(width * depth)
    this.counts = new Uint32Array(width * depth)
    this.table = Array.from({ length: LOOKUP_TABLE }, (_, i) => decay ** i)
    this.heap = new MinHeap(k)
  }

  /** Whether it says that it was added, and the key that had to go. */
  add(key: string, increment: number): readonly [added: boolean, expelled: string | undefined] {
    const { fingerprint, cells } = this.placesOf(key)
    const most = cells.reduce((max, cell) => Math.max(max, this.addTo(cell, fingerprint, increment)), 0)
    this.total += increment
    if (most < this.options.minCount) return [false, undefined]
    if (this.heap.full && most < this.heap.least) return [false, undefined]
    const at = this.heap.find(key)
    if (at >= 0) {
      this.heap.fix(at, most)
      return [true, undefined]
    }
    return [true, this.heap.add({ key, count: most })?.key]
  }

  /** What the key has in this cell afterwards. */
  private addTo(cell: number, fingerprint: number, increment: number): number {
    const { fingerprints, counts } = this
    if (counts[cell] === 0) {
      fingerprints[cell] = fingerprint
      counts[cell] = increment
      return increment
    }
    if (fingerprints[cell] === fingerprint) return (counts[cell]! += increment)
    for (let left = increment; left > 0; left--) {
      const odds = this.table[Math.min(counts[cell]!, LOOKUP_TABLE - 1)] as number
      if (this.random() >= odds || --counts[cell]! > 0) continue
      fingerprints[cell] = fingerprint
      return (counts[cell] = left)
    }
    return 0
  }

  fade(): void {
    for (let i = 0; i < this.counts.length; i++) this.counts[i]! >>>= 1
    this.heap.halve()
    this.total = Math.floor(this.total / 2)
  }

  /** By count, the largest first; equal ones by key. */
  list(): AegisItem[] {
    return this.heap.sorted()
  }

  private placesOf(key: string): Places {
    const known = this.places.get(key)
    if (known !== undefined) return known
    const { width, depth } = this.options
    const bytes = new TextEncoder().encode(key)
    const cells = Array.from({ length: depth }, (_, row) => row * width + (murmur3(bytes, row) % width))
    const places = { fingerprint: murmur3(bytes, 0), cells }
    this.places.set(key, places)
    return places
  }
}
