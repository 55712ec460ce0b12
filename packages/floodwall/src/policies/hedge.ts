import { RetryBudget } from '../algorithms/retry/budget.ts'
import { FixedDelay, type HedgeDelay, PercentileDelay, shareOf } from '../algorithms/retry/hedge-delay.ts'
import type { Call } from '../core/call.ts'
import type { Snapshot } from '../core/gate.ts'
import { type Kind, kindOf } from '../core/layer.ts'
import type { Verdict } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { Answer, type Step, stepFrom } from '../core/step.ts'
import { type HedgeOptions, type HedgeSettings, hedgeOptions, hedgeSnapshot } from './hedge-options.ts'
import { Race, type Track } from './hedge-race.ts'

// Why wait for the slow one?
//
// Source: Dean and Barroso, "The Tail at Scale" (2013). An attempt that takes longer than most is not given up, as a timeout would: a second
// one is sent beside it, and the first success counts. For calls that say `idempotent` only, since both may be executed; all others pass.
//
// The budget is what makes it safe. When everything is slow every call is late, and twice the load is the last thing that helps then.

class Hedge implements Policy, Track {
  readonly kind = 'hedge'
  readonly path: string
  readonly env: Env
  private settings: HedgeSettings
  private budget: RetryBudget
  private delay: HedgeDelay
  private closed = false
  private hedges = 0
  private wins = 0
  private overBudget = 0

  constructor(settings: HedgeSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.budget = budgetOf(settings)
    this.delay = delayOf(settings)
  }

  /** Other settings; what was measured and what is spent are kept where they still mean the same. */
  reconfigure(settings: HedgeSettings): void {
    const { after, over, budget } = this.settings
    if (JSON.stringify(budget) !== JSON.stringify(settings.budget)) this.budget = budgetOf(settings)
    if (after !== settings.after || over !== settings.over) this.delay = delayOf(settings)
    this.settings = settings
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      if (!call.idempotent || call.cancelled) return inner(call, sink)
      this.budget.request(this.env.now())
      new Race(this, call, inner, sink).start()
    }
  }

  get most(): number {
    return this.settings.most
  }

  get owns(): boolean {
    return this.settings.budget.ratio > 0
  }

  delayMs(): number {
    // It may be the user's: what it throws must not become an error of the call.
    try {
      return Math.max(this.settings.atLeast, this.delay.ms(this.env.now()))
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }

  grant(): number | undefined {
    const now = this.env.now()
    if (this.closed) return undefined
    if (!this.budget.grant(now)) {
      this.overBudget++
      return undefined
    }
    this.hedges++
    return now
  }

  giveBack(grantedAt: number): void {
    this.hedges--
    this.budget.giveBack(grantedAt, this.env.now())
  }

  measured(verdict: Verdict, tookMs: number): void {
    try {
      this.delay.record(verdict, tookMs, this.env.now())
    } catch {
      // The user's again: it learns nothing then.
    }
  }

  won(): void {
    this.wins++
  }

  /** Nobody waits here; calls that are out end as they began, alone. */
  close(): void {
    this.closed = true
  }

  inspect(now: number): Snapshot {
    const { kind, path, hedges, wins: won, overBudget, budget } = this
    const afterMs = this.delayMs()
    return {
      kind,
      path,
      hedges,
      won,
      overBudget,
      afterMs: Number.isFinite(afterMs) ? afterMs : null,
      budget: { spent: budget.spent(now), allowed: budget.allowed(now) },
    }
  }
}

function budgetOf({ budget: { ratio, minimum, over } }: HedgeSettings): RetryBudget {
  return new RetryBudget(ratio, minimum, over)
}

function delayOf({ after, over }: HedgeSettings): HedgeDelay {
  if (typeof after === 'object') return after
  return typeof after === 'number' ? new FixedDelay(after) : new PercentileDelay(shareOf(after), over)
}

/** Sends an idempotent call a second time, elsewhere, when it takes longer than most; the first success counts. */
export const hedge: Kind<HedgeOptions, HedgeSettings> = kindOf({
  kind: 'hedge',
  options: hedgeOptions,
  snapshot: hedgeSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Hedge)) return new Hedge(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
