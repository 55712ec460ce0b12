import { systemRuntime } from '../../core/system.ts'
import { log10, type NetflixLimit, truncated } from './limit.ts'

/** Options of {@link VegasLimit}, with the names and the defaults that they have there. */
export interface VegasLimitOptions {
  /** Default 20. */
  readonly initialLimit?: number
  /** Default 1000. */
  readonly maxConcurrency?: number
  /** Share of the new value in the estimate. Default 1. */
  readonly smoothing?: number
  /** The queue below which it grows, of the limit. Default three times the decimal logarithm. */
  readonly alpha?: number
  /** The queue above which it shrinks. Default six times the decimal logarithm. */
  readonly beta?: number
  /** The no-load time is forgotten after about so many samples for each call of the limit. Default 30. */
  readonly probeMultiplier?: number
  /** A draw from [0.5, 1) for each probe. Default: by chance. */
  readonly probeJitter?: () => number
}

/**
 * VegasLimit: the no-load time is the least sample since the last probe, and a probe takes whatever sample it meets: under load that is a
 * slow one, and the limit follows it upwards. One step of the size of the logarithm for each sample.
 */
export class VegasLimit implements NetflixLimit {
  estimate: number
  /** 0 before the first sample. */
  noLoadNs = 0
  private readonly max: number
  private readonly smoothing: number
  private readonly alpha: number | undefined
  private readonly beta: number | undefined
  private readonly multiplier: number
  private readonly draw: () => number
  private jitter: number
  private samples = 0

  constructor(options: VegasLimitOptions = {}) {
    this.estimate = options.initialLimit ?? 20
    this.max = options.maxConcurrency ?? 1000
    this.smoothing = options.smoothing ?? 1
    this.alpha = options.alpha
    this.beta = options.beta
    this.multiplier = options.probeMultiplier ?? 30
    this.draw = options.probeJitter ?? (() => 0.5 + systemRuntime.random() / 2)
    this.jitter = this.draw()
  }

  get limit(): number {
    return truncated(this.estimate)
  }

  /** Throws RangeError for a time of 0 or less. */
  onSample(_startNs: number, rttNs: number, inFlight: number, didDrop: boolean): void {
    if (!(rttNs > 0)) throw new RangeError(`rtt must be above 0, got ${rttNs}`)
    this.samples++
    if (this.jitter * this.multiplier * this.estimate <= this.samples) {
      this.jitter = this.draw()
      this.samples = 0
      this.noLoadNs = rttNs
    } else if (this.noLoadNs === 0 || rttNs < this.noLoadNs) this.noLoadNs = rttNs
    else this.move(rttNs, inFlight, didDrop)
  }

  private move(rttNs: number, inFlight: number, didDrop: boolean): void {
    const { estimate, smoothing } = this
    const step = log10(this.limit)
    const queue = Math.ceil(estimate * (1 - this.noLoadNs / rttNs))
    const alpha = this.alpha ?? 3 * step
    const beta = this.beta ?? 6 * step
    let next: number
    if (didDrop) next = estimate - step
    else if (inFlight * 2 < estimate) return
    else if (queue <= step) next = estimate + beta
    else if (queue < alpha) next = estimate + step
    else if (queue > beta) next = estimate - step
    else return
    next = Math.max(1, Math.min(this.max, next))
    this.estimate = (1 - smoothing) * estimate + smoothing * next
  }
}
