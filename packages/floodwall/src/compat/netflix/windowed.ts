import type { NetflixLimit } from './limit.ts'
import { AverageWindow, PercentileWindow, type SampleWindow } from './sample-window.ts'

/** Options of {@link WindowedLimit}, with the names and the defaults that they have there. */
export interface WindowedLimitOptions {
  /** Default 1 s. */
  readonly minWindowTimeNs?: number
  /** Default 1 s. */
  readonly maxWindowTimeNs?: number
  /** A window of fewer samples says nothing. Default 10. */
  readonly windowSize?: number
  /** Shorter is no sample. Default 100 µs. */
  readonly minRttThresholdNs?: number
  /** Which percentile of the first `of` samples stands for a window. Default: their average does. */
  readonly percentile?: { readonly at: number; readonly of: number }
}

/** WindowedLimit: what a window of calls took stands for one call. A window lasts for twice its predecessor's least sample. */
export class WindowedLimit implements NetflixLimit {
  readonly delegate: NetflixLimit
  private readonly least: number
  private readonly most: number
  private readonly size: number
  private readonly threshold: number
  private readonly fresh: () => SampleWindow
  private window: SampleWindow
  private until = 0

  constructor(delegate: NetflixLimit, options: WindowedLimitOptions = {}) {
    const { percentile } = options
    this.delegate = delegate
    this.least = options.minWindowTimeNs ?? 1e9
    this.most = options.maxWindowTimeNs ?? 1e9
    this.size = options.windowSize ?? 10
    this.threshold = options.minRttThresholdNs ?? 100_000
    this.fresh =
      percentile === undefined ? () => new AverageWindow() : () => new PercentileWindow(percentile.at, percentile.of)
    this.window = this.fresh()
  }

  get limit(): number {
    return this.delegate.limit
  }

  get estimate(): number {
    return this.delegate.estimate
  }

  /** Throws RangeError for a percentile that lies before the first sample. */
  onSample(startNs: number, rttNs: number, inFlight: number, didDrop: boolean): void {
    if (rttNs < this.threshold) return
    const { window } = this
    window.add(rttNs, inFlight, didDrop)
    const end = startNs + rttNs
    if (end <= this.until) return
    this.window = this.fresh()
    this.until = end + Math.min(Math.max(window.leastNs * 2, this.least), this.most)
    if (window.samples >= this.size) this.delegate.onSample(startNs, window.rttNs, window.mostInFlight, window.didDrop)
  }
}
