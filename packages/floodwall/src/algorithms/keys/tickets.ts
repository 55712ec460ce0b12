// What has a call taken that is still out, where a small number does not say it?
//
// Most calls cost a whole number below 128, and that and a slot fit into the 31 bits that V8 keeps in place: a permit with such a tag weighs nothing
// more. Others get a ticket, which lies here until their end.
//
// Slot 5, cost 3: the tag 2 · 2^24 + 5. Slot 5, cost 0.5: the first ticket, tag -1.
//
// Invariant: as many tickets are kept as permits with a ticket are out.

/** Of a tag for the slot: 16 million. */
const SLOT_BITS = 24
const SLOT_MASK = 0xffffff
const MOST_COST = 128

export class Tickets {
  private slots: number[] = []
  private readonly costs: number[] = []
  private readonly spare: number[] = []

  /** The tag for a permit; `keep`: a ticket in any case. */
  tag(slot: number, cost: number, keep: boolean): number {
    const isSmall = slot > 0 && cost >= 1 && cost <= MOST_COST && (cost | 0) === cost
    if (isSmall && !keep) return ((cost - 1) << SLOT_BITS) | slot
    const ticket = this.spare.pop() ?? this.slots.length
    this.slots[ticket] = slot
    this.costs[ticket] = cost
    return ~ticket
  }

  slotOf(tag: number): number {
    return tag >= 0 ? tag & SLOT_MASK : this.slots[~tag]!
  }

  costOf(tag: number): number {
    return tag >= 0 ? (tag >>> SLOT_BITS) + 1 : this.costs[~tag]!
  }

  /** The permit has ended. */
  close(tag: number): void {
    if (tag < 0) this.spare.push(~tag)
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
