/** What the samples of a window come to. */
export interface SampleWindow {
  readonly samples: number
  /** Infinity when there are none. */
  readonly leastNs: number
  readonly mostInFlight: number
  readonly didDrop: boolean
  /** What stands for all of them. Throws RangeError for a percentile that lies before the first one. */
  readonly rttNs: number
  add(rttNs: number, inFlight: number, didDrop: boolean): void
}

/** Their average, in whole nanoseconds. */
export class AverageWindow implements SampleWindow {
  samples = 0
  leastNs = Number.POSITIVE_INFINITY
  mostInFlight = 0
  didDrop = false
  private sum = 0

  get rttNs(): number {
    return this.samples === 0 ? 0 : Math.trunc(this.sum / this.samples)
  }

  add(rttNs: number, inFlight: number, didDrop: boolean): void {
    this.samples++
    this.sum += rttNs
    this.leastNs = Math.min(this.leastNs, rttNs)
    this.mostInFlight = Math.max(this.mostInFlight, inFlight)
    this.didDrop ||= didDrop
  }
}

/** A percentile of the first of them. */
export class PercentileWindow implements SampleWindow {
  leastNs = Number.POSITIVE_INFINITY
  mostInFlight = 0
  didDrop = false
  private readonly percentile: number
  private readonly size: number
  private readonly kept: number[] = []

  constructor(percentile: number, size: number) {
    this.percentile = percentile
    this.size = size
  }

  get samples(): number {
    return this.kept.length
  }

  get rttNs(): number {
    const place = Math.floor(this.kept.length * this.percentile + 0.5)
    const rttNs = this.kept.sort((a, b) => a - b)[place - 1]
    if (rttNs === undefined) throw new RangeError(`percentile ${this.percentile} is before the first sample`)
    return rttNs
  }

  add(rttNs: number, inFlight: number, didDrop: boolean): void {
    if (this.kept.length >= this.size) return
    this.kept.push(rttNs)
    this.leastNs = Math.min(this.leastNs, rttNs)
    this.mostInFlight = Math.max(this.mostInFlight, inFlight)
    this.didDrop ||= didDrop
  }
}
