import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { Resilience4jCircuitBreaker } from './circuit-breaker.ts'
import {
  type Resilience4jOptions,
  type Resilience4jSettings,
  resilience4jOptions,
  resilience4jSnapshot,
} from './options.ts'

// The replica as a gate: permits in, verdicts out.
//
// success is a success; failure, timeout and overload are errors, since there every error is one that nobody has taken out; what is ignored or
// cancelled gives the permission back. Exactly one end of each permit reaches the replica, whatever its caller does.

export class Resilience4jBreaker extends Resilience4jCircuitBreaker implements Gate {
  readonly kind = 'resilience4jBreaker'
  readonly timed = true
  /** Permits that have not ended: what they will say must not be lost. */
  private lent = 0

  constructor(options: Resilience4jOptions = {}, env: Env = envOf(systemRuntime, 'resilience4jBreaker')) {
    super(parse(resilience4jOptions, options, 'resilience4jBreaker'), env)
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    if (!this.tryAcquirePermission(ask.now)) return this.refusal(ask.now)
    this.lent++
    return new Permit(this, 0)
  }

  settled(_permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    this.lent--
    if (verdict === 'success') this.onSuccess(tookMs, now)
    else if (verdict === 'ignored') this.onIgnoredError(now)
    else this.onError(tookMs, now, { ok: false, result: verdict })
  }

  cancelled(_permit: Permit, now: number): void {
    this.lent--
    this.releasePermission(now)
  }

  private refusal(now: number): Rejection {
    const failureRate = this.failureRate(now)
    const { failureRateThreshold, permittedNumberOfCallsInHalfOpenState: probes } = this.settings
    if (this.at === 'HALF_OPEN') return new Rejection(this, 'probing', 0, probes, probes)
    if (this.at === 'FORCED_OPEN') return new Rejection(this, 'forced', 0, failureRate, failureRateThreshold)
    return new Rejection(this, 'open', this.probeInMs(now), failureRate, failureRateThreshold)
  }

  /** At the very end of the wait it still refuses, as there. */
  private probeInMs(now: number): number {
    return this.at === 'OPEN' ? Math.max(0, this.openUntil - now + 1) : 0
  }

  explain(rejection: Rejection): string {
    if (rejection.reason === 'forced') return 'FORCED_OPEN'
    if (rejection.reason === 'probing') return `HALF_OPEN, all ${rejection.limit} permitted calls are out`
    const rate =
      rejection.value < 0 ? '' : `, ${Math.round(rejection.value * 10) / 10} % failed (limit ${rejection.limit} %)`
    return `OPEN, attempt ${this.attempt}${rate}`
  }

  idle(now: number): boolean {
    return this.state(now) === 'CLOSED' && this.lent === 0 && this.metrics(now).bufferedCalls === 0
  }

  inspect(now: number): Snapshot {
    const { kind, path } = this
    const state = this.state(now)
    return { kind, path, state, attempts: this.attempt, probeInMs: this.probeInMs(now), ...this.metrics(now) }
  }
}

/**
 * resilience4j's circuit breaker as a layer, under its own option names and with its own rules. For the breaker of this library, set up from
 * the same options, there is `breaker(presets.resilience4j({ ... }))`.
 */
export const resilience4jBreaker: Kind<Resilience4jOptions, Resilience4jSettings> = kindOf({
  kind: 'resilience4jBreaker',
  options: resilience4jOptions,
  snapshot: resilience4jSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Resilience4jBreaker)) return new Resilience4jBreaker(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
