import * as v from 'valibot'
import { parse, positiveSpan, spanOrZero } from '../../core/schema.ts'

// How often, as the rate limiter of resilience4j would say?
//
// A replica of its AtomicRateLimiter (commit af9e7c97), the only one that its factory makes, for those who tuned it there. Time is cut into
// cycles; each brings the limit, and nothing is saved. Permissions may be owed to later cycles, as far as the timeout is patient.
//
// 2 a second: at 100 ms two pass, a third is promised for 900 ms later, and so is the fourth; 1900 ms for the fifth.
//
// Invariant: answers, waits, permissions and cycles are those of resilience4j, apart from its defects. Draining never forgives what is
// owed, takes the permissions of the cycle it happens in, and tells how many; a large limit after a long sleep is that limit. A whole
// limit passes at the end of a cycle and another at the beginning of the next: `rateLimit` does not do that.

/** An int in Java. */
const limitSchema = v.custom<number>(
  (n) => Number.isInteger(n) && Number(n) >= 1 && Number(n) <= 2_147_483_647,
  'a whole number from 1 to 2147483647',
)

const optionsSchema = v.strictObject({
  /** Permissions that each cycle brings. Default 50. */
  limitForPeriod: v.optional(limitSchema, 50),
  /** The length of a cycle. Default 500 ns, which is what resilience4j says. */
  limitRefreshPeriod: v.optional(positiveSpan, 0.0005),
  /** The longest wait that is promised. Default 5 s. */
  timeoutDuration: v.optional(spanOrZero, '5s'),
})

export type Resilience4jRateLimiterOptions = v.InferInput<typeof optionsSchema>

/** What happened, under the names of resilience4j, with the number of permissions. */
export interface Resilience4jRateEvent {
  readonly type: 'SUCCESSFUL_ACQUIRE' | 'FAILED_ACQUIRE' | 'DRAINED'
  readonly permits: number
}

/** Times are whole nanoseconds since it was made: exact for 104 days. */
export class Resilience4jRateLimiter {
  private limit: number
  private timeoutNs: number
  private readonly periodNs: number
  private permissions: number
  private atCycle = 0
  private readonly onEvent: ((event: Resilience4jRateEvent) => void) | undefined

  /** Throws a ConfigError that names the field. */
  constructor(options: Resilience4jRateLimiterOptions = {}, onEvent?: (event: Resilience4jRateEvent) => void) {
    const settings = parse(optionsSchema, options, 'resilience4jRateLimiter')
    this.limit = settings.limitForPeriod
    this.periodNs = Math.max(1, Math.round(settings.limitRefreshPeriod * 1e6))
    this.timeoutNs = Math.round(settings.timeoutDuration * 1e6)
    this.permissions = this.limit
    this.onEvent = onEvent
  }

  /** The cycle that was seen last, from 0. */
  get cycle(): number {
    return this.atCycle
  }

  private move(nowNs: number): void {
    const cycle = Math.floor(nowNs / this.periodNs)
    if (cycle <= this.atCycle) return
    // In doubles: there, elapsed cycles times the limit overflow 64 bits and refuse everybody.
    this.permissions = Math.min(this.permissions + (cycle - this.atCycle) * this.limit, this.limit)
    this.atCycle = cycle
  }

  /** Permissions at `nowNs`; below 0 as many are owed. Like there, a look changes nothing. */
  availablePermissions(nowNs: number): number {
    const cycles = Math.floor(nowNs / this.periodNs) - this.atCycle
    return cycles > 0 ? Math.min(this.permissions + cycles * this.limit, this.limit) : this.permissions
  }

  /** Nanoseconds until `permits` could be had. */
  nanosToWait(permits: number, nowNs: number): number {
    const available = this.availablePermissions(nowNs)
    if (available >= permits) return 0
    const cycle = Math.max(this.atCycle, Math.floor(nowNs / this.periodNs))
    const toNext = (cycle + 1) * this.periodNs - nowNs
    const missing = permits - available - this.limit
    return toNext + Math.max(0, Math.ceil(missing / this.limit)) * this.periodNs
  }

  /** Nanoseconds to wait, and the permissions are taken; -1: refused, and nothing was. */
  reservePermission(permits: number, nowNs: number): number {
    const waitNs = this.nanosToWait(permits, nowNs)
    this.move(nowNs)
    const goes = waitNs <= this.timeoutNs
    if (goes) this.permissions -= permits
    this.tell(goes ? 'SUCCESSFUL_ACQUIRE' : 'FAILED_ACQUIRE', permits)
    return goes ? waitNs : -1
  }

  /** Takes what is there now; what is owed stays owed. How many that were. */
  drainPermissions(nowNs: number): number {
    this.move(nowNs)
    const drained = Math.max(0, this.permissions)
    this.permissions -= drained
    this.tell('DRAINED', drained)
    return drained
  }

  /** From the next cycle on. */
  changeLimitForPeriod(limit: number): void {
    this.limit = parse(limitSchema, limit, 'limitForPeriod')
  }

  changeTimeoutDuration(ms: number): void {
    this.timeoutNs = Math.round(parse(spanOrZero, ms, 'timeoutDuration') * 1e6)
  }

  private tell(type: Resilience4jRateEvent['type'], permits: number): void {
    this.onEvent?.({ type, permits })
  }
}
