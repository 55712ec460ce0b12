import { showMs } from '../../core/duration.ts'
import { ConfigError } from '../../core/errors.ts'
import { type Ask, type Gate, type Permit, type Quota, Rejection, type Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { quotaOf } from '../rates/quota.ts'
import { costOf } from '../rates/rate.ts'
import { costOn, receipt, timeOn } from '../rates/receipt.ts'
import { Tokens } from '../rates/tokens.ts'
import { burstOf, type RateOptions, type RateSettings, rateOptions } from './rate-limit-settings.ts'

// How often, with some bursts allowed?
//
// The token bucket of `rates`, as a gate: what it counts is the same, and it is one object, since this is on the way of every call.
//
// Invariant: in any span t at most burst + rate · t is granted, what was cancelled apart; a refusal takes nothing.

export class TokenBucket extends Tokens implements Gate {
  readonly kind = 'rateLimit'
  readonly path: string
  readonly timed: boolean
  /** Permits whose cost is still an estimate. */
  private owing = 0

  constructor(options: RateOptions, env: Env = envOf(systemRuntime, 'rateLimit')) {
    const settings = parse(rateOptions, options, 'rateLimit')
    const { algorithm = 'tokenBucket' } = settings
    if (algorithm !== 'tokenBucket') throw notABucket(algorithm)
    super(settings, burstOf(settings), env.now())
    this.path = env.path
    this.timed = settings.charge === 'time'
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const cost = costOf(ask.cost)
    if (!this.takes(cost, ask.now)) return this.refuse(cost)
    if (this.timed) this.owing++
    return receipt(this, cost, this.at)
  }

  private refuse(cost: number): Rejection {
    const wait = this.waitFor(cost)
    const never = wait === Number.POSITIVE_INFINITY
    return new Rejection(this, 'rate', never ? 0 : wait, this.tokens, cost, never)
  }

  settled(permit: Permit, _verdict: Verdict, tookMs: number, now: number): void {
    if (!this.timed) return
    this.owing--
    // A latency that is none corrects nothing: the estimate stands.
    if (tookMs >= 0) this.correct(costOn(permit), tookMs, now)
  }

  cancelled(permit: Permit, now: number): void {
    if (this.timed) this.owing--
    this.give(costOn(permit), timeOn(permit, this.at), now)
  }

  /** Another rate from `now` on, same bucket: a reload is not a free burst, and the time before it earned at the old rate. */
  reconfigure(settings: RateSettings, now: number): void {
    this.repace(settings, burstOf(settings), now)
  }

  explain(rejection: Rejection): string {
    const { most, perMs } = this
    if (rejection.limit > most) return `costs ${rejection.limit}, and no more than ${most} can ever be saved up`
    if (rejection.never) return `costs ${rejection.limit}, ${rejection.value} left, and at rate 0 nothing is earned`
    return `costs ${rejection.limit}, ${Math.floor(rejection.value * 100) / 100} of ${most} left; one more each ${showMs(1 / perMs)}`
  }

  /** Milliseconds of work are nothing that a caller could count. */
  quota({ now }: Ask): Quota | undefined {
    if (this.timed) return undefined
    const { most, perMs } = this
    const windowMs = most > 0 ? most / perMs : Number.POSITIVE_INFINITY
    return quotaOf(most, windowMs, this.left(now), (cost) => this.waitFor(cost))
  }

  override idle(now: number): boolean {
    return this.owing === 0 && super.idle(now)
  }

  inspect(now: number): Snapshot {
    const { kind, path, most, perMs } = this
    return { kind, path, tokens: this.left(now), burst: most, perSecond: perMs * 1000 }
  }
}

function notABucket(algorithm: string): ConfigError {
  return new ConfigError([
    {
      path: 'rateLimit.algorithm',
      value: `"${algorithm}"`,
      expected: '"tokenBucket" for a TokenBucket; rateLimit() makes the others',
    },
  ])
}
