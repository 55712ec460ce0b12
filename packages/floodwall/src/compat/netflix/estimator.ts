import type { Estimator } from '../../algorithms/estimators/estimator.ts'
import type { Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import type { NetflixLimit } from './limit.ts'

const NS_PER_MS = 1e6

class NetflixEstimator implements Estimator {
  readonly kind = 'netflix'
  private readonly inner: NetflixLimit

  constructor(inner: NetflixLimit) {
    this.inner = inner
  }

  get limit(): number {
    return Math.max(1, this.inner.limit)
  }

  sample(tookMs: number, inFlight: number, verdict: Verdict, now: number): void {
    // A time of 0 would throw there, or make the limit 0 for ever.
    const rttNs = Math.max(1, Math.round(tookMs * NS_PER_MS))
    this.inner.onSample(Math.round(now * NS_PER_MS) - rttNs, rttNs, inFlight, verdict !== 'success')
  }

  inspect(): Snapshot {
    const { kind, limit } = this
    return { kind, limit }
  }
}

/**
 * One of these limits as an estimator: `adaptiveLimit({ estimator: netflixLimit(() => new VegasLimit()), max: 1000 })`. A success is a sample
 * there, a timeout or an overload a drop, anything else is ignored.
 */
export function netflixLimit(make: () => NetflixLimit): () => Estimator {
  return () => new NetflixEstimator(make())
}
