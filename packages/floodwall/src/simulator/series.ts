// How does it look over time?
//
// Buckets of one width from the beginning of the world. When a run outgrows its buckets, neighbours are added up and the width doubles: a
// series takes 8 KB, whether the run lasts a minute or a year.
//
// Width 1 s, 1000 buckets: at 1000 s they become 500 buckets of 2 s. The width depends on the time alone, so that all series of a world have
// the same one.
//
// Invariant: the buckets add up to all that was added.

/** Enough for a chart, and divisible by 2. */
const MOST = 1000

/** The width at `now` of buckets that began with `widthMs`. */
export function widthAt(now: number, widthMs: number): number {
  let width = widthMs
  while (now >= width * MOST) width *= 2
  return width
}

export class Series {
  private readonly buckets = new Float64Array(MOST)
  private width: number
  private end: number

  /** `widthMs` is that of a bucket as long as they suffice. */
  constructor(widthMs: number) {
    this.width = widthMs
    this.end = widthMs * MOST
  }

  /** Adds `amount` at a time. */
  add(at: number, amount: number): void {
    if (at >= this.end) this.stretch(at)
    this.buckets[this.placeOf(at)]! += amount
  }

  /** Adds `rate` for each millisecond from `from` to `until`, over all buckets between. */
  spread(from: number, until: number, rate: number): void {
    if (until >= this.end) this.stretch(until)
    const { buckets, width } = this
    const last = this.placeOf(until)
    let start = from
    for (let place = this.placeOf(from); place < last; place++) {
      const border = (place + 1) * width
      buckets[place]! += (border - start) * rate
      start = border
    }
    buckets[last]! += (until - start) * rate
  }

  /** The buckets up to `now`, oldest first, the last one unfinished; each multiplied by `factor`. */
  upTo(now: number, factor = 1): number[] {
    if (now >= this.end) this.stretch(now)
    return Array.from(this.buckets.subarray(0, Math.ceil(now / this.width)), (sum) => sum * factor)
  }

  private placeOf(at: number): number {
    // A quotient may round up to the number of buckets.
    return Math.min(Math.floor(at / this.width), MOST - 1)
  }

  private stretch(at: number): void {
    const { buckets } = this
    while (at >= this.end) {
      for (let i = 0; i < MOST / 2; i++) buckets[i] = buckets[2 * i]! + buckets[2 * i + 1]!
      buckets.fill(0, MOST / 2)
      this.width *= 2
      this.end *= 2
    }
  }
}
