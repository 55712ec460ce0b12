// What has a call taken that is still out, and when?
//
// Whose seat it was, what it cost and when: three numbers, of which the time is none that V8 keeps in place. They lie here, side by side, and
// the permit has their place, a small number. The place that was left last is taken first, so that a few lines of memory are enough.
//
// Slot 5, cost 3, at 1000.25 ms, while three calls are out: place 4.
//
// Invariant: as many places are kept as calls were out at once, and at most MOST_OUT unless they must be kept: a call that finds none takes what it
// takes, and gives nothing back. Who never ends his permits fills the places and no more.

/** More calls than one process has out at one limit; 7 MB. */
const MOST_OUT = 262_144
/** The tag without a place. */
const NONE = 0

export class Tickets {
  /** Place 0 is nobody's. */
  private slots: number[] = [0]
  private readonly costs: number[] = [0]
  private readonly times: number[] = [0]
  private readonly spare: number[] = []

  /** The tag for a permit; `keep`: a place in any case. */
  tag(slot: number, cost: number, at: number, keep: boolean): number {
    let place = this.spare.pop()
    if (place === undefined) {
      place = this.slots.length
      if (place > MOST_OUT && !keep) return NONE
    }
    this.slots[place] = slot
    this.costs[place] = cost
    this.times[place] = at
    return place
  }

  slotOf(tag: number): number {
    return this.slots[tag]!
  }

  costOf(tag: number): number {
    return this.costs[tag]!
  }

  timeOf(tag: number): number {
    return this.times[tag]!
  }

  /** The permit has ended. */
  close(tag: number): void {
    if (tag !== NONE) this.spare.push(tag)
  }

  /** Slots have other numbers now; those of nobody, 0 and below, stay. */
  renumber(to: Int32Array): void {
    this.slots = this.slots.map((slot) => (slot > 0 ? to[slot]! : slot))
  }

  /** Below 0 there are others now. */
  unshare(): void {
    this.slots = this.slots.map((slot) => Math.max(0, slot))
  }
}
