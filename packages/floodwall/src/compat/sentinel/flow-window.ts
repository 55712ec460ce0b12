// How many passed lately, as Sentinel's flow rules would count?
//
// Source: the statistics of a resource in alibaba/sentinel-golang (commit f7a7f957): a ring of buckets that begin at multiples of their length,
// and views of it, which are the bucket of now and so many before it.
//
// 20 buckets of 500 ms, seen as a second: what passed at 490 ms counts until 999 ms, and is gone at 1000 ms.
//
// Invariant: a view is the sum of what was added since `now - now mod length - (buckets - 1) · length`.

export class FlowWindow {
  readonly lengthMs: number
  private readonly starts: number[]
  private readonly passes: number[]

  constructor(lengthMs: number, buckets: number) {
    this.lengthMs = lengthMs
    this.starts = new Array<number>(buckets).fill(Number.NEGATIVE_INFINITY)
    this.passes = new Array<number>(buckets).fill(0)
  }

  private startOf(now: number): number {
    return now - (now % this.lengthMs)
  }

  add(batch: number, now: number): void {
    const start = this.startOf(now)
    const i = (start / this.lengthMs) % this.starts.length
    if (this.starts[i] !== start) {
      this.starts[i] = start
      this.passes[i] = 0
    }
    this.passes[i]! += batch
  }

  /** Passes of the view that ends with the bucket of `now`. */
  sum(viewMs: number, now: number): number {
    const last = this.startOf(now)
    const first = last - viewMs + this.lengthMs
    return this.starts.reduce((sum, start, i) => (start >= first && start <= last ? sum + this.passes[i]! : sum), 0)
  }

  /** Passes per second of the view that ended a bucket ago. */
  previousPerSecond(viewMs: number, now: number): number {
    return this.sum(viewMs, now - this.lengthMs) / (viewMs / 1000)
  }
}
