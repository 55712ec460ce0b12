import { type NetflixLimit, truncated } from './limit.ts'

/** Options of {@link Gradient2Limit}, with the names and the defaults that they have there. */
export interface Gradient2LimitOptions {
  /** Default 20. */
  readonly initialLimit?: number
  /** Default 20. */
  readonly minLimit?: number
  /** Default 200. */
  readonly maxConcurrency?: number
  /** Calls that may queue, by the limit. Default 4. */
  readonly queueSize?: number | ((limit: number) => number)
  /** Share of the new value in the estimate. Default 0.2. */
  readonly smoothing?: number
  /** Samples of the long average. Default 600. */
  readonly longWindow?: number
  /** How many times the long average a sample may take. Default 1.5. */
  readonly rttTolerance?: number
}

/** The first samples of the long average count alike. */
const WARM_UP = 10

/**
 * Gradient2Limit: a sample against a long average of samples. The average follows a standing queue, so that under mild overload the limit
 * grows to its maximum; drops are not looked at; a first sample of 0 makes the limit 0 for ever. All of that is here too.
 */
export class Gradient2Limit implements NetflixLimit {
  estimate: number
  longRttNs = 0
  private readonly min: number
  private readonly max: number
  private readonly queueSize: (limit: number) => number
  private readonly smoothing: number
  private readonly tolerance: number
  private readonly factor: number
  private samples = 0
  private sum = 0

  constructor(options: Gradient2LimitOptions = {}) {
    const { queueSize = 4 } = options
    this.estimate = options.initialLimit ?? 20
    this.min = options.minLimit ?? 20
    this.max = options.maxConcurrency ?? 200
    this.queueSize = typeof queueSize === 'number' ? () => queueSize : queueSize
    this.smoothing = options.smoothing ?? 0.2
    this.tolerance = options.rttTolerance ?? 1.5
    this.factor = 2 / ((options.longWindow ?? 600) + 1)
  }

  get limit(): number {
    return truncated(this.estimate)
  }

  onSample(_startNs: number, rttNs: number, inFlight: number): void {
    const { estimate, smoothing } = this
    const queue = this.queueSize(this.limit)
    const long = this.average(rttNs)
    if (long / rttNs > 2) this.longRttNs = long * 0.95
    if (inFlight < estimate / 2) return
    const gradient = Math.max(0.5, Math.min(1, (this.tolerance * long) / rttNs))
    const next = estimate * (1 - smoothing) + (estimate * gradient + queue) * smoothing
    this.estimate = Math.max(this.min, Math.min(this.max, next))
  }

  private average(rttNs: number): number {
    if (this.samples < WARM_UP) {
      this.samples++
      this.sum += rttNs
      this.longRttNs = this.sum / this.samples
    } else this.longRttNs = this.longRttNs * (1 - this.factor) + rttNs * this.factor
    return this.longRttNs
  }
}
