import type { Limit } from './limit.ts'
import { GRAIN, type Reservable } from './rate.ts'

// How many in the last minute, exactly?
//
// Source: the log of all that was taken, the plain meaning of "at most five in any minute". It pays with memory: 16 bytes for each take that
// the window still holds.
//
// 5 per minute: five at 59.999 s; the sixth passes at 119.999 s and not a moment before.
//
// Invariant: in no window of its length (the end included, the beginning not) is more granted than the limit. With more takes in a window than
// EXACT, those of the same 1/4096 of it are one, as if all had come last: less may be granted then, never more.

/** Takes that are told apart whatever their distance; and the distance, as a part of the window, at which all are. */
const EXACT = 4096
/** Of a time: some of the last digits of a double. */
const ROUNDING = 4 * Number.EPSILON

export class SlidingLog implements Reservable {
  readonly kind = 'slidingLog'
  readonly most: number
  private readonly windowMs: number
  private at: number
  /** A ring, oldest first; times may lie ahead where they were promised. */
  private times = new Float64Array(16)
  private costs = new Float64Array(16)
  private head = 0
  private size = 0
  private sum = 0
  /** When the newest entry was begun. */
  private begun = 0

  constructor({ limit, windowMs }: Limit, now: number) {
    this.most = limit
    this.windowMs = windowMs
    this.at = now
  }

  private slot(i: number): number {
    return (this.head + i) % this.times.length
  }

  private move(now: number): void {
    if (now > this.at) this.at = now
    while (this.size > 0 && this.times[this.head]! + this.windowMs <= this.at) {
      this.sum -= this.costs[this.head]!
      this.head = this.slot(1)
      this.size--
    }
    // A sum of many differences would drift.
    if (this.size === 0) this.sum = 0
  }

  /** When `cost` fits, not before what was taken or promised last. */
  private earliest(cost: number): number {
    const newest = this.size === 0 ? this.at : Math.max(this.at, this.times[this.slot(this.size - 1)]!)
    let above = this.sum + cost - this.most
    let time = newest
    for (let i = 0; i < this.size && above > GRAIN; i++) {
      const slot = this.slot(i)
      above -= this.costs[slot]!
      time = this.times[slot]! + this.windowMs
    }
    return Math.max(newest, time)
  }

  take(cost: number, now: number): number {
    return this.reserve(cost, now, 0)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    this.move(now)
    if (cost > this.most + GRAIN) return Number.POSITIVE_INFINITY
    const time = this.earliest(cost)
    const waitMs = time - this.at
    if (waitMs <= atMostMs) this.push(time, cost)
    return waitMs
  }

  private push(time: number, cost: number): void {
    if (cost === 0) return
    this.sum += cost
    const last = this.slot(Math.max(0, this.size - 1))
    const together = this.size > EXACT ? time - this.begun < this.windowMs / EXACT : time === this.times[last]
    if (this.size > 0 && together) {
      this.times[last] = time
      this.costs[last]! += cost
      return
    }
    if (this.size === this.times.length) this.grow()
    const slot = this.slot(this.size++)
    this.times[slot] = time
    this.costs[slot] = cost
    this.begun = time
  }

  private grow(): void {
    const { size } = this
    const [times, costs] = [new Float64Array(size * 2), new Float64Array(size * 2)]
    for (let i = 0; i < size; i++) {
      times[i] = this.times[this.slot(i)]!
      costs[i] = this.costs[this.slot(i)]!
    }
    this.times = times
    this.costs = costs
    this.head = 0
  }

  /** From the take that it is in, while the window holds that. Later ones stay: they will be counted for longer. */
  give(cost: number, takenAt: number, now: number): void {
    this.move(now)
    if (this.size === 0 || takenAt + this.windowMs <= this.at) return
    const slot = this.slotAt(takenAt)
    const back = Math.min(cost, this.costs[slot]!)
    this.sum -= back
    this.costs[slot]! -= back
    while (this.size > 0 && this.costs[this.slot(this.size - 1)] === 0) this.size--
    this.move(now)
  }

  /** The one at `time`; a promise is told as a distance, which may be a rounding off, and an earlier entry is forgotten earlier. */
  private slotAt(time: number): number {
    const slot = this.slot(this.search(time))
    return this.times[slot] === time ? slot : this.slot(this.search(time - Math.abs(time) * ROUNDING))
  }

  /** The first entry at `time` or later, or the last one: it has taken in all that came after the one before it. */
  private search(time: number): number {
    let from = 0
    let to = this.size - 1
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.times[this.slot(middle)]! < time) from = middle + 1
      else to = middle
    }
    return from
  }

  left(now: number): number {
    this.move(now)
    const ahead = this.size > 0 && this.times[this.slot(this.size - 1)]! > this.at
    return ahead ? Math.min(0, this.most - this.sum) : this.most - this.sum
  }

  idle(now: number): boolean {
    this.move(now)
    return this.size === 0
  }
}
