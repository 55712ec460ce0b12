import type { NetflixLimit } from './limit.ts'
import type { NetflixEnd } from './simple-limiter.ts'

/**
 * AbstractPartitionedLimiter: while the total is below the limit everybody passes; from there on each partition up to its share. So a
 * partition that came late has its share nevertheless, and the total may exceed the limit by that.
 */
export class PartitionedLimiter {
  inFlight = 0
  readonly limit: NetflixLimit
  private readonly shares: ReadonlyMap<string, number>
  private readonly busy = new Map<string, number>()

  /** @param shares by partition, at most 1 together; who is not named has none */
  constructor(limit: NetflixLimit, shares: Readonly<Record<string, number>>) {
    this.limit = limit
    this.shares = new Map(Object.entries(shares))
  }

  acquire(partition: string): boolean {
    const busy = this.busy.get(partition) ?? 0
    if (this.inFlight >= this.limit.limit && busy >= this.limitOf(partition)) return false
    this.inFlight++
    this.busy.set(partition, busy + 1)
    return true
  }

  end(partition: string, how: NetflixEnd, startNs = 0, rttNs = 0, inFlight = this.inFlight): void {
    this.inFlight--
    this.busy.set(partition, (this.busy.get(partition) ?? 0) - 1)
    if (how !== 'ignore') this.limit.onSample(startNs, rttNs, inFlight, how === 'drop')
  }

  private limitOf(partition: string): number {
    const share = this.shares.get(partition) ?? 0
    return share === 0 ? 0 : Math.max(1, Math.ceil(this.limit.limit * share))
  }
}
