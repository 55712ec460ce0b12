import type { NetflixLimit } from './limit.ts'

/** How a call ended, there: `success` is a sample, `drop` one of too much, `ignore` none. */
export type NetflixEnd = 'success' | 'drop' | 'ignore'

/** SimpleLimiter: so many at once, refused above. For a gate with permits there is `adaptiveLimit`. */
export class SimpleLimiter {
  inFlight = 0
  readonly limit: NetflixLimit

  constructor(limit: NetflixLimit) {
    this.limit = limit
  }

  acquire(): boolean {
    if (this.inFlight >= this.limit.limit) return false
    this.inFlight++
    return true
  }

  /** One that was acquired has ended; `inFlight` as it was when it began. */
  end(how: NetflixEnd, startNs = 0, rttNs = 0, inFlight = this.inFlight): void {
    this.inFlight--
    if (how !== 'ignore') this.limit.onSample(startNs, rttNs, inFlight, how === 'drop')
  }
}
