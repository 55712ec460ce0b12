import type { Limit } from './limit.ts'
import { GRAIN, type Reservable } from './rate.ts'
import { windowIndex } from './window-index.ts'

// How many in the last minute, roughly?
//
// Source: two counters, as Cloudflare described in "How we built rate limiting capable of scaling to millions of domains" (2017): what the last
// window counted weighs as much as of it would still lie in a window that ends now.
//
// 5 per minute, 5 in the last one: 15 s into this one they weigh 5 · 0.75 = 3.75, and one more passes.
//
// Invariant: the estimate is never above the limit. In any span t at most limit + limit · t / window is granted: it is a bucket that is
// filled by windows, and what came in one instant is forgotten slowly, as if it had come evenly.

export class SlidingWindow implements Reservable {
  readonly kind = 'slidingWindow'
  readonly most: number
  private readonly windowMs: number
  private readonly origin: number
  private at: number
  private index = 0
  private previous = 0
  private current = 0
  /** The newest time for which something was taken; later than the newest time where it was promised. */
  private takenAt: number

  constructor({ limit, windowMs }: Limit, now: number) {
    this.most = limit
    this.windowMs = windowMs
    this.origin = now
    this.at = now
    this.takenAt = now
  }

  private startOf(index: number): number {
    return this.origin + index * this.windowMs
  }

  private move(now: number): void {
    if (!(now > this.at)) return
    this.at = now
    const index = windowIndex(now, this.origin, this.windowMs)
    if (index <= this.index) return
    this.previous = index === this.index + 1 ? this.current : 0
    this.current = 0
    this.index = index
  }

  /** How much of the last window lies in the one that ends at `time`, which is in the window of the counters. */
  private weight(time: number): number {
    return Math.min(1, Math.max(0, (this.startOf(this.index + 1) - time) / this.windowMs))
  }

  take(cost: number, now: number): number {
    return this.reserve(cost, now, 0)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    this.move(now)
    if (cost > this.most + GRAIN) return Number.POSITIVE_INFINITY
    const from = Math.max(this.at, this.takenAt)
    const room = this.most - cost
    if (this.previous * this.weight(from) + this.current <= room + GRAIN)
      return this.commit(cost, from, false, atMostMs)
    // In this window, once the last one weighs little enough; or in the next one, where this one is the last.
    const here = this.current <= room
    const weighs = here ? (room - this.current) / this.previous : Math.min(1, room / this.current)
    const time = this.startOf(this.index + (here ? 1 : 2)) - weighs * this.windowMs
    return this.commit(cost, Math.max(from, time), !here || time >= this.startOf(this.index + 1), atMostMs)
  }

  private commit(cost: number, time: number, next: boolean, atMostMs: number): number {
    const waitMs = Math.max(0, time - this.at)
    if (waitMs > atMostMs) return waitMs
    if (next) {
      this.previous = this.current
      this.current = 0
      this.index++
    }
    this.current += cost
    this.takenAt = time
    return waitMs
  }

  /** From the window that it was taken in; of one before the last nothing is counted any more. */
  give(cost: number, takenAt: number, now: number): void {
    this.move(now)
    const index = windowIndex(Math.max(this.origin, takenAt), this.origin, this.windowMs)
    if (index >= this.index) this.current = Math.max(0, this.current - cost)
    else if (index === this.index - 1) this.previous = Math.max(0, this.previous - cost)
  }

  left(now: number): number {
    this.move(now)
    const estimate = this.previous * this.weight(Math.max(this.at, this.takenAt)) + this.current
    return this.takenAt > this.at ? Math.min(0, -this.current) : this.most - estimate
  }

  idle(now: number): boolean {
    this.move(now)
    return this.previous === 0 && this.current === 0
  }
}
