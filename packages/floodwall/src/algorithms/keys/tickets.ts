import { grown } from './debts.ts'

// What has a call taken that is still out, and when?
//
// Whose seat it was, what it cost and when: three numbers, of which the time is none that V8 keeps in place. They lie here, side by side, and
// the permit has their place, a small number. The place that was left last is taken first, so that a few lines of memory are enough: free ones
// are a chain, of which each names the next.
//
// Slot 5, cost 3, at 1000.25 ms, while three calls are out: place 4.
//
// Invariant: as many places are kept as calls were out at once, and at most MOST_OUT unless they must be kept: a call that finds none takes what it
// takes, and gives nothing back. Who never ends his permits fills the places and no more.

/** More calls than one process has out at one limit; 5 MB. With the place of nobody a power of two, by which places grow. */
const MOST_OUT = 262_143
/** Places at the beginning. */
const FIRST = 16
/** The tag without a place. */
const NONE = 0
/** In place of a slot: free, and so much less is the next free one. Shared slots are above: limits are told apart in 16 bits. */
const FREE = -0x20000
/** A place in doubles: what it cost, when. */
const ROW = 2
const COST = 0
const TIME = 1

export class Tickets {
  /** By place; place 0 is nobody's. */
  private slots = new Int32Array(FIRST)
  private rows = new Float64Array(ROW * FIRST)
  /** The first that is free, of those that were taken before; and how many were. */
  private free = NONE
  private high = 0

  /** The tag for a permit; `keep`: a place in any case. */
  tag(slot: number, cost: number, at: number, keep: boolean): number {
    let place = this.free
    if (place !== NONE) this.free = FREE - this.slots[place]!
    else {
      place = this.fresh(keep)
      if (place === NONE) return NONE
    }
    this.slots[place] = slot
    this.rows[ROW * place + COST] = cost
    this.rows[ROW * place + TIME] = at
    return place
  }

  private fresh(keep: boolean): number {
    if (this.high >= MOST_OUT && !keep) return NONE
    const place = ++this.high
    if (place === this.slots.length) {
      this.slots = grown(this.slots, new Int32Array(2 * place))
      this.rows = grown(this.rows, new Float64Array(2 * ROW * place))
    }
    return place
  }

  slotOf(tag: number): number {
    return this.slots[tag]!
  }

  costOf(tag: number): number {
    return this.rows[ROW * tag + COST]!
  }

  timeOf(tag: number): number {
    return this.rows[ROW * tag + TIME]!
  }

  /** The permit has ended. */
  close(tag: number): void {
    if (tag === NONE) return
    this.slots[tag] = FREE - this.free
    this.free = tag
  }

  /** Slots have other numbers now; those of nobody, 0 and below, stay. */
  renumber(to: Int32Array): void {
    this.change((slot) => (slot > 0 ? to[slot]! : slot))
  }

  /** Below 0 there are others now. */
  unshare(): void {
    this.change((slot) => Math.max(0, slot))
  }

  private change(slotOf: (slot: number) => number): void {
    const { slots } = this
    for (let place = 1; place <= this.high; place++) if (slots[place]! > FREE) slots[place] = slotOf(slots[place]!)
  }
}
