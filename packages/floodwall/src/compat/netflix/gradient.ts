import { systemRuntime } from '../../core/system.ts'
import { type NetflixLimit, truncated } from './limit.ts'

/** Options of {@link GradientLimit}, with the names and the defaults that they have there. */
export interface GradientLimitOptions {
  /** Default 50. */
  readonly initialLimit?: number
  /** Default 1. */
  readonly minLimit?: number
  /** Default 1000. */
  readonly maxConcurrency?: number
  /** Calls that may queue, by the limit. Default the square root, at least 4. */
  readonly queueSize?: number | ((limit: number) => number)
  /** Share of the new value in the estimate, on the way down. Default 0.2. */
  readonly smoothing?: number
  /** How many times the least time a sample may take. Default 2. */
  readonly rttTolerance?: number
  /** What a drop leaves of the estimate. Default 0.9. */
  readonly backoffRatio?: number
  /** Samples between two probes, about; -1: none. Default 1000. */
  readonly probeInterval?: number
  /** Samples until the next probe. Default: from one to two intervals, by chance. */
  readonly probeCountdown?: () => number
}

/** GradientLimit, the first one: a sample against the least one since the last probe, at which the limit falls to the floor. */
export class GradientLimit implements NetflixLimit {
  estimate: number
  /** The least sample since the last probe; 0 when there is none. */
  leastNs = 0
  private readonly min: number
  private readonly max: number
  private readonly queueSize: (limit: number) => number
  private readonly smoothing: number
  private readonly tolerance: number
  private readonly backoff: number
  private readonly probes: boolean
  private readonly draw: () => number
  private untilProbe: number

  constructor(options: GradientLimitOptions = {}) {
    const { queueSize = (limit: number) => Math.max(4, Math.floor(Math.sqrt(limit))), probeInterval = 1000 } = options
    this.estimate = options.initialLimit ?? 50
    this.min = options.minLimit ?? 1
    this.max = options.maxConcurrency ?? 1000
    this.queueSize = typeof queueSize === 'number' ? () => queueSize : queueSize
    this.smoothing = options.smoothing ?? 0.2
    this.tolerance = options.rttTolerance ?? 2
    this.backoff = options.backoffRatio ?? 0.9
    this.probes = probeInterval >= 0
    this.draw = options.probeCountdown ?? (() => probeInterval + Math.floor(systemRuntime.random() * probeInterval))
    this.untilProbe = this.probes ? this.draw() : 0
  }

  get limit(): number {
    return truncated(this.estimate)
  }

  onSample(_startNs: number, rttNs: number, inFlight: number, didDrop: boolean): void {
    const queue = this.queueSize(this.limit)
    if (this.probes && this.untilProbe-- <= 0) return this.probe(queue)
    if (this.leastNs === 0 || rttNs < this.leastNs) this.leastNs = rttNs
    const { estimate, smoothing } = this
    let next: number
    if (didDrop) next = estimate * this.backoff
    else if (inFlight < estimate / 2) return
    else next = estimate * Math.max(0.5, Math.min(1, (this.tolerance * this.leastNs) / rttNs)) + queue
    if (next < estimate) next = Math.max(this.min, estimate * (1 - smoothing) + smoothing * next)
    this.estimate = Math.max(queue, Math.min(this.max, next))
  }

  private probe(queue: number): void {
    this.untilProbe = this.draw()
    this.estimate = Math.max(this.min, queue)
    this.leastNs = 0
  }
}
