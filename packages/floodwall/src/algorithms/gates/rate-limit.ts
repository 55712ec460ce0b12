import { showMs } from '../../core/duration.ts'
import { type Ask, type Gate, type Permit, type Quota, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Env } from '../../core/runtime.ts'
import { quotaOf, windowOf } from '../rates/quota.ts'
import { costOf, type Reservable } from '../rates/rate.ts'
import { costOn, receipt, timeOn } from '../rates/receipt.ts'
import { WarmUp } from '../rates/warm-up.ts'
import { carryOver, rateOf } from './rate-limit-algorithms.ts'
import { type RateOptions, type RateSettings, rateOptions, rateSnapshot } from './rate-limit-settings.ts'
import { TokenBucket } from './token-bucket.ts'

// How often, if a bucket is not what was promised to the callers?
//
// The gate over any of the algorithms of `rates`. The token bucket, which is the default, has a class of its own: it is on the way of every
// call, and one shape there is worth some nanoseconds.
//
// Invariant: that of its algorithm. A refusal takes nothing; a cancelled permit gives back what of its cost is still missing.

class RateLimit implements Gate {
  readonly kind = 'rateLimit'
  readonly path: string
  private readonly settings: RateSettings
  readonly rate: Reservable
  /** The newest time. */
  private at: number

  constructor(settings: RateSettings, env: Env) {
    this.path = env.path
    this.settings = settings
    this.at = env.now()
    this.rate = rateOf(settings, this.at)
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const cost = costOf(ask.cost)
    const now = this.newest(ask.now)
    const waitMs = this.rate.take(cost, now)
    if (waitMs === 0) return receipt(this, cost, now)
    const never = waitMs === Number.POSITIVE_INFINITY
    return new Rejection(this, 'rate', never ? 0 : waitMs, this.rate.left(now), cost, never)
  }

  private newest(now: number): number {
    if (now > this.at) this.at = now
    return this.at
  }

  settled(): void {}

  cancelled(permit: Permit, now: number): void {
    const at = this.newest(now)
    this.rate.give(costOn(permit), timeOn(permit, at), at)
  }

  explain({ value, limit, never }: Rejection): string {
    const { most } = this.rate
    if (limit > most) return `costs ${limit}, and no more than ${most} can ever pass at once`
    if (never) return `costs ${limit}, ${value} left, and at rate 0 nothing is earned`
    const { rate, per } = this.settings
    return `costs ${limit}, ${Math.floor(value * 100) / 100} of ${most} left, at ${rate} per ${showMs(per)}`
  }

  quota(ask: Ask): Quota {
    const { rate, settings } = this
    const now = this.newest(ask.now)
    return quotaOf(rate.most, windowOf(settings, rate.most), rate.left(now), (cost) => this.waitFor(cost, now))
  }

  /** It is asked for more than there is: should a rounding have it taken all the same, it goes back. */
  private waitFor(cost: number, now: number): number {
    // When cold, one passes that is more than is left, and what goes back then is not what was taken.
    if (this.rate instanceof WarmUp) return (cost - this.rate.left(now)) / this.rate.perMs(now)
    const waitMs = this.rate.take(cost, now)
    if (waitMs === 0) this.rate.give(cost, now, now)
    return waitMs
  }

  idle(now: number): boolean {
    return this.rate.idle(this.newest(now))
  }

  inspect(now: number): Snapshot {
    const { kind, path, rate, settings } = this
    return {
      kind,
      path,
      tokens: rate.left(this.newest(now)),
      burst: rate.most,
      perSecond: (settings.rate / settings.per) * 1000,
    }
  }
}

/** At most `rate` per `per`, with bursts up to `burst`. Refuses with the time to wait. */
export const rateLimit: Kind<RateOptions, RateSettings> = kindOf({
  kind: 'rateLimit',
  options: rateOptions,
  snapshot: rateSnapshot,
  build(settings, env, previous) {
    const now = env.now()
    if ((settings.algorithm ?? 'tokenBucket') !== 'tokenBucket') {
      const gate = new RateLimit(settings, env)
      if (previous instanceof RateLimit) carryOver(previous.rate, gate.rate, now)
      else if (isByCalls(previous)) carryOver(previous, gate.rate, now)
      return gate
    }
    if (previous instanceof TokenBucket && previous.timed === (settings.charge === 'time')) {
      previous.reconfigure(settings, now)
      return previous
    }
    const bucket = new TokenBucket(settings, env)
    if (previous instanceof RateLimit && !bucket.timed) bucket.tokens = Math.min(bucket.tokens, previous.rate.left(now))
    return bucket
  },
})

/** Milliseconds of work are not calls: there is nothing to carry over. */
function isByCalls(previous: unknown): previous is TokenBucket {
  return previous instanceof TokenBucket && !previous.timed
}
