import type { NetflixLimit } from './limit.ts'

/** Options of {@link AimdLimit}, with the names and the defaults that they have there. */
export interface AimdLimitOptions {
  /** Default 20; kept as it is until the first sample, also outside of the bounds. */
  readonly initialLimit?: number
  /** Default 20. */
  readonly minLimit?: number
  /** Default 200. */
  readonly maxLimit?: number
  /** Default 0.9. */
  readonly backoffRatio?: number
  /** Longer counts as a drop. Default 5 s. */
  readonly timeoutNs?: number
}

/**
 * AIMDLimit: every drop takes a tenth, every other sample adds 1 while at least half of the limit is in use. A hundred calls that time out
 * together are a hundred drops there; `estimator: 'aimd'` counts them as one event.
 */
export class AimdLimit implements NetflixLimit {
  limit: number
  private readonly min: number
  private readonly max: number
  private readonly backoff: number
  private readonly timeoutNs: number

  constructor(options: AimdLimitOptions = {}) {
    this.limit = options.initialLimit ?? 20
    this.min = options.minLimit ?? 20
    this.max = options.maxLimit ?? 200
    this.backoff = options.backoffRatio ?? 0.9
    this.timeoutNs = options.timeoutNs ?? 5e9
  }

  get estimate(): number {
    return this.limit
  }

  onSample(_startNs: number, rttNs: number, inFlight: number, didDrop: boolean): void {
    let next = this.limit
    if (didDrop || rttNs > this.timeoutNs) next = Math.trunc(next * this.backoff)
    else if (inFlight * 2 >= next) next++
    this.limit = Math.min(this.max, Math.max(this.min, next))
  }
}
