import * as v from 'valibot'
import { showMs } from '../../core/duration.ts'
import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { amountOrZero, oneOf, parse, positiveSpan } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'

// How often, with some bursts allowed?
//
// Source: the token bucket of RFC 2697 and of every network textbook. Tokens are a double and time is read when asked: rates below one
// and above a thousand per second are exact, there is no timer, and a 30-day period is as good as a second.
//
// rate 1/s, burst 10: take 3 at once, 7 are left; after 500 ms 7.5. A take of 8 then is refused, "try again in 500 ms".
//
// Invariant: in any span t at most burst + rate · t is granted; tokens never pass the burst.

const rateOptions = v.strictObject({
  /** Tokens earned per `per`. 0: nothing passes, or a given `burst` and then nothing. */
  rate: amountOrZero,
  /** The span that `rate` is per. Default 1 s. */
  per: v.optional(positiveSpan, '1s'),
  /** The most that idling can save. Default: `rate`, at least 1; nothing at rate 0. */
  burst: v.optional(amountOrZero),
  /**
   * `calls`: a call costs its `cost`. `time`: `cost` is an estimate in milliseconds of work, corrected by what the work took; an
   * underestimate is owed, up to one burst. Default `calls`.
   */
  charge: v.optional(oneOf('calls', 'time'), 'calls'),
})

export type RateOptions = v.InferInput<typeof rateOptions>
type RateSettings = v.InferOutput<typeof rateOptions>

const rateSnapshot = v.strictObject({
  ...snapshotOf('rateLimit'),
  tokens: v.number(),
  burst: v.number(),
  perSecond: v.number(),
})

/** Rounding of one division: 100 ms at 10/s must be one whole token. Far below any cost that matters, and never given away twice. */
const GRAIN = 1e-9

export class TokenBucket implements Gate {
  readonly kind = 'rateLimit'
  readonly path: string
  readonly timed: boolean
  private perMs = 0
  private burst = 0
  private tokens: number
  private at: number
  /** Permits whose cost is still an estimate. */
  private owing = 0

  constructor(options: RateOptions, env: Env = envOf(systemRuntime, 'rateLimit')) {
    const settings = parse(rateOptions, options, 'rateLimit')
    this.path = env.path
    this.set(settings)
    this.tokens = this.burst
    this.at = env.now()
    this.timed = settings.charge === 'time'
  }

  private set({ rate, per, burst }: RateSettings): void {
    this.perMs = rate / per
    this.burst = burst ?? (rate === 0 ? 0 : Math.max(1, rate))
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    this.earn(ask.now)
    const cost = costOf(ask)
    if (this.tokens + GRAIN < cost) return this.refuse(cost)
    this.tokens -= cost
    if (this.timed) this.owing++
    return new Permit(this, 0, cost)
  }

  private refuse(cost: number): Rejection {
    const wait = (cost - this.tokens) / this.perMs
    const never = cost > this.burst || wait === Number.POSITIVE_INFINITY
    return new Rejection(this, 'rate', never ? 0 : wait, this.tokens, cost, never)
  }

  private earn(now: number): void {
    if (!(now > this.at)) return
    this.tokens = Math.min(this.burst, this.tokens + (now - this.at) * this.perMs)
    this.at = now
  }

  settled(permit: Permit, _verdict: Verdict, tookMs: number, now: number): void {
    if (!this.timed) return
    this.owing--
    // A latency that is none corrects nothing: the estimate stands.
    if (!(tookMs >= 0)) return
    this.earn(now)
    // Never below minus one burst: one wild call must not silence its caller for ever.
    this.tokens = Math.max(-this.burst, Math.min(this.burst, this.tokens + permit.tag - tookMs))
  }

  cancelled(permit: Permit, now: number): void {
    if (this.timed) this.owing--
    this.earn(now)
    this.tokens = Math.min(this.burst, this.tokens + permit.tag)
  }

  /** Another rate from `now` on, same bucket: a reload is not a free burst, and the time before it earned at the old rate. */
  reconfigure(settings: RateSettings, now: number): void {
    this.earn(now)
    this.set(settings)
    this.tokens = Math.min(this.tokens, this.burst)
  }

  explain(rejection: Rejection): string {
    if (rejection.limit > this.burst)
      return `costs ${rejection.limit}, and no more than ${this.burst} can ever be saved up`
    if (rejection.never) return `costs ${rejection.limit}, ${rejection.value} left, and at rate 0 nothing is earned`
    return `costs ${rejection.limit}, ${Math.floor(rejection.value * 100) / 100} of ${this.burst} left; one more each ${showMs(1 / this.perMs)}`
  }

  idle(now: number): boolean {
    this.earn(now)
    return this.owing === 0 && this.tokens >= this.burst
  }

  inspect(now: number): Snapshot {
    this.earn(now)
    return { kind: this.kind, path: this.path, tokens: this.tokens, burst: this.burst, perSecond: this.perMs * 1000 }
  }
}

/** What is no cost (NaN, negative, a text) costs 1: a NaN among the tokens would let everything pass, for ever. */
function costOf({ cost }: Ask): number {
  return typeof cost === 'number' && cost >= 0 ? Math.min(cost, Number.MAX_VALUE) : 1
}

/** At most `rate` per `per`, with bursts up to `burst`. Refuses with the time to wait. */
export const rateLimit: Kind<RateOptions, RateSettings> = kindOf({
  kind: 'rateLimit',
  options: rateOptions,
  snapshot: rateSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof TokenBucket) || previous.timed !== (settings.charge === 'time'))
      return new TokenBucket(settings, env)
    previous.reconfigure(settings, env.now())
    return previous
  },
})
