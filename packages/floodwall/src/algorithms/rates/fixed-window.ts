import type { Limit } from './limit.ts'
import { GRAIN, type Reservable } from './rate.ts'
import { windowIndex } from './window-index.ts'

// How many in this minute?
//
// Source: the counter that is reset each period, as in most quotas of APIs. One number, easy to explain ("5000 per hour, again at three"),
// and unfair at its edges: the whole limit at the end of one window, and again at the beginning of the next.
//
// 5 per minute: five at 59.999 s and five at 60.001 s pass, ten within 2 ms. That is its worst case, and why it is never the default.
//
// Invariant: between two edges at most the limit is granted; in any span t at most limit · (whole windows in t + 2).

export class FixedWindow implements Reservable {
  readonly kind = 'fixedWindow'
  readonly most: number
  private readonly windowMs: number
  /** Windows are counted from here. */
  private readonly origin: number
  private at: number
  /** The window in which something was taken last; promises may have reached a later one than the present. */
  private index = 0
  private used = 0

  constructor({ limit, windowMs }: Limit, now: number) {
    this.most = limit
    this.windowMs = windowMs
    this.origin = now
    this.at = now
  }

  private move(now: number): void {
    if (!(now > this.at)) return
    this.at = now
    const index = windowIndex(now, this.origin, this.windowMs)
    if (index <= this.index) return
    this.index = index
    this.used = 0
  }

  private startOf(index: number): number {
    return this.origin + index * this.windowMs
  }

  /** Milliseconds until window `index` begins. */
  private untilMs(index: number): number {
    return Math.max(0, this.startOf(index) - this.at)
  }

  take(cost: number, now: number): number {
    return this.reserve(cost, now, 0)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    this.move(now)
    if (cost > this.most + GRAIN) return Number.POSITIVE_INFINITY
    const fits = this.used + cost <= this.most + GRAIN
    const index = fits ? this.index : this.index + 1
    const waitMs = this.untilMs(index)
    if (waitMs > atMostMs) return waitMs
    this.used = fits ? this.used + cost : cost
    this.index = index
    return waitMs
  }

  give(cost: number, takenAt: number, now: number): void {
    this.move(now)
    if (this.indexOf(takenAt) === this.index) this.used = Math.max(0, this.used - cost)
  }

  /** What is promised for later begins with a window, whatever a rounding has made of that time. */
  private indexOf(takenAt: number): number {
    if (takenAt > this.at) return Math.round((takenAt - this.origin) / this.windowMs)
    return windowIndex(Math.max(this.origin, takenAt), this.origin, this.windowMs)
  }

  left(now: number): number {
    this.move(now)
    return this.untilMs(this.index) > 0 ? -this.used : this.most - this.used
  }

  idle(now: number): boolean {
    this.move(now)
    return this.used === 0
  }
}
