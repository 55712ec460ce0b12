import { count, parse } from '../../../src/core/schema.ts'

// The semaphore limiter of resilience4j, which no factory of it makes: a timer tops the permits up, and nothing can be reserved. Kept to compare
// with. One thing is other than there: a limit below what is left is that limit from the next tick on, where their timer throws and is
// never heard of again.

export class SemaphoreLimiter {
  permits: number
  private limit: number
  private readonly periodNs: number
  private tick = 0

  constructor(limit: number, periodNs: number) {
    this.limit = limit
    this.permits = limit
    this.periodNs = periodNs
  }

  pass(nowNs: number): void {
    const tick = Math.floor(nowNs / this.periodNs)
    if (tick === this.tick) return
    this.tick = tick
    this.permits = this.limit
  }

  acquire(permits: number): boolean {
    if (permits > this.permits) return false
    this.permits -= permits
    return true
  }

  drain(): number {
    const drained = this.permits
    this.permits = 0
    return drained
  }

  changeLimit(limit: number): void {
    this.limit = parse(count, limit, 'limit')
  }
}
