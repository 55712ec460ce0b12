// Where is the limit, and how fast may it move?
//
// Source: slow start, threshold and multiplicative decrease of TCP (RFC 5681, 3.1; the factor 0.7 of RFC 9438, 4.6). Until the first sign
// of a queue it doubles, which mends the slow beginning of Vegas (Netflix #35); after drops it doubles up to half of where they began.
//
// Drops of a tenth of the calls take a tenth, of all of them 30 %: a service of which one call in a thousand times out keeps its limit.
//
// Invariant: 1 <= min <= limit <= max, whole; the value is finite.

/** The settings of every estimator that moves. */
export interface Bounds {
  /** Where it begins. */
  readonly initial: number
  readonly min: number
  readonly max: number
  /** What is left of the limit, at the least, after a round with drops. */
  readonly backoff: number
}

export class Estimate {
  /** With a fraction. */
  value: number
  /** Whole. */
  limit: number
  private bounds: Bounds
  private doublesBelow = Infinity
  private falling = false

  constructor(bounds: Bounds) {
    this.bounds = bounds
    this.value = 1
    this.limit = 1
    this.move(bounds.initial)
  }

  /** True while it doubles. */
  get slowStart(): boolean {
    return this.value < this.doublesBelow
  }

  /** A queue was seen: from here on in steps. */
  found(): void {
    this.doublesBelow = 0
  }

  double(): void {
    this.move(Math.min(this.value * 2, this.doublesBelow))
  }

  move(to: number): void {
    const { min, max } = this.bounds
    if (to > this.value) this.falling = false
    this.value = Math.min(max, Math.max(min, to))
    this.limit = Math.floor(this.value)
  }

  /**
   * @param dropped the share of drops in a round, above 0
   * @param peak the most calls in flight in it: who was alone was not dropped since there were too many
   */
  cut(dropped: number, peak: number): void {
    if (peak <= 1) return
    if (!this.falling) this.doublesBelow = this.value / 2
    this.falling = true
    this.move(this.value * Math.max(this.bounds.backoff, 1 - dropped))
  }

  reconfigure(bounds: Bounds): void {
    this.bounds = bounds
    this.move(this.value)
  }
}
