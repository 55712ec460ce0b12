import { Series, widthAt } from './series.ts'

// How many were there, on average over time?
//
// A queue of 9 for a second and of 0 for nine seconds has a mean length of 0.9, whatever the number of its changes: what counts is the area
// under the curve. Little's law is about this mean.

export class Level {
  /** Now. */
  value = 0
  /** The most at any time since {@link forget}. */
  most = 0
  private readonly series: Series
  private readonly widthMs: number
  private since = 0
  private area = 0
  private from = 0

  constructor(widthMs: number) {
    this.series = new Series(widthMs)
    this.widthMs = widthMs
  }

  change(by: number, now: number): void {
    this.settle(now)
    this.value += by
    if (this.value > this.most) this.most = this.value
  }

  /** The time-weighted mean since {@link forget}, or the beginning. */
  mean(now: number): number {
    this.settle(now)
    return now > this.from ? this.area / (now - this.from) : this.value
  }

  /** The means of the buckets up to `now`. */
  upTo(now: number): number[] {
    this.settle(now)
    const width = widthAt(now, this.widthMs)
    const means = this.series.upTo(now, 1 / width)
    const rest = now - (means.length - 1) * width
    // The last bucket is young: its area is that of a part of it.
    const last = means.pop()
    if (last !== undefined) means.push((last * width) / rest)
    return means
  }

  /** The mean and the most begin anew; the series goes on. */
  forget(now: number): void {
    this.settle(now)
    this.area = 0
    this.from = now
    this.most = this.value
  }

  private settle(now: number): void {
    const { value, since } = this
    if (now === since) return
    if (value !== 0) {
      this.area += value * (now - since)
      this.series.spread(since, now, value)
    }
    this.since = now
  }
}
