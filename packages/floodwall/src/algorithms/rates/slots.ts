import type { Reservable } from './rate.ts'

// What becomes of a promise that nobody needs any more?
//
// Source: `Reservation.Cancel` of Go's x/time/rate gives back what was not promised to others since; the rest is lost there. Here the place of
// somebody who left in the middle stands free for the next one who fits in, at the time that it has.
//
// 1/s: promised are 0, 1 and 2 s. The first leaves: the place at 0 s is free while it is 0 s. The second leaves: who comes then is promised
// 1 s, and who comes after him 3 s. The third leaves, the last: it is as if he had never come.
//
// Invariant: at the times that are promised, cancelled ones apart, no window grants more than the rate does; no promise becomes later. A question
// takes the same time however many are promised.

/** Free places that a question looks at, longest free first; those that are too small for all who come go when their time has come. */
const LOOKS = 32

/** A promise: `cost` at `at`. */
export class Slot {
  readonly at: number
  /** @internal */ cost: number
  /** @internal It can be cancelled once. */ open = true
  /** @internal */ previous: Slot | null = null
  /** @internal */ following: Slot | null = null

  constructor(at: number, cost: number) {
    this.at = at
    this.cost = cost
  }
}

/** The promises of one rate that are still to come, in the order of their times. */
export class Slots {
  private readonly rate: Reservable
  private first: Slot | null = null
  private last: Slot | null = null
  /** Places that somebody may have. */
  private readonly frees = new Set<Slot>()

  constructor(rate: Reservable) {
    this.rate = rate
  }

  /** A promise; or the milliseconds that it would have taken, above `atMostMs`. Infinity: never. */
  reserve(cost: number, now: number, atMostMs: number): Slot | number {
    this.pass(now)
    const left = this.frees.size > 0 ? this.takeFree(cost, now + atMostMs) : undefined
    if (left !== undefined) return left
    const waitMs = this.rate.reserve(cost, now, atMostMs)
    if (waitMs > atMostMs || waitMs === Number.POSITIVE_INFINITY) return waitMs
    const slot = new Slot(now + waitMs, cost)
    this.link(slot, this.last)
    return slot
  }

  /** Takes `cost` now, without a way back; or says false and takes nothing. */
  takes(cost: number, now: number): boolean {
    if (this.frees.size === 0) return this.rate.take(cost, now) === 0
    return typeof this.reserve(cost, now, 0) !== 'number'
  }

  /** What has come is no promise any more. */
  private pass(now: number): void {
    while (this.first !== null && this.first.at < now) {
      this.frees.delete(this.first)
      this.unlink(this.first)
    }
  }

  private takeFree(cost: number, until: number): Slot | undefined {
    const slot = this.freeFor(cost, until)
    if (slot === undefined) return undefined
    const mine = new Slot(slot.at, cost)
    this.link(mine, slot)
    slot.cost -= cost
    if (slot.cost === 0) {
      this.frees.delete(slot)
      this.unlink(slot)
    }
    return mine
  }

  /** The earliest place of those looked at that has room for `cost`. */
  private freeFor(cost: number, until: number): Slot | undefined {
    let best: Slot | undefined
    let looks = 0
    for (const slot of this.frees) {
      if (looks++ === LOOKS) break
      if (slot.cost >= cost && slot.at <= (best?.at ?? until)) best = slot
    }
    return best
  }

  /** Not needed any more; the second time nothing happens. */
  cancel(slot: Slot, now: number): void {
    if (!slot.open) return
    slot.open = false
    this.pass(now)
    if (this.first === null) return this.rate.give(slot.cost, slot.at, now)
    // What has come, and others were promised something since: they do not come earlier for it.
    if (slot.at < now) return
    this.frees.add(slot)
    for (let { last } = this; last !== null && this.frees.delete(last); { last } = this) {
      this.unlink(last)
      this.rate.give(last.cost, last.at, now)
    }
  }

  private link(slot: Slot, after: Slot | null): void {
    const before = after === null ? this.first : after.following
    slot.previous = after
    slot.following = before
    if (after === null) this.first = slot
    else after.following = slot
    if (before === null) this.last = slot
    else before.previous = slot
  }

  private unlink(slot: Slot): void {
    const { previous, following } = slot
    if (previous === null) this.first = following
    else previous.following = following
    if (following === null) this.last = previous
    else following.previous = previous
  }
}
