import { backoffMs, ceilingMs } from '../algorithms/retry/backoff.ts'
import { RetryBudget } from '../algorithms/retry/budget.ts'
import { Streak } from '../algorithms/retry/streak.ts'
import type { Prospects } from '../core/aside.ts'
import type { Call } from '../core/call.ts'
import { toMs } from '../core/duration.ts'
import { isExhausted, tellExhausted } from '../core/exhausted.ts'
import type { Snapshot } from '../core/gate.ts'
import { type Kind, kindOf } from '../core/layer.ts'
import { failed, type Outcome, withoutRetry } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'
import { causeOf } from './retry-causes.ts'
import { type RetryOptions, type RetrySettings, retryOptions, retrySnapshot } from './retry-options.ts'

// Again, and when?
//
// A retry is a loan from an overloaded future, so it must be worth it: the work may run twice (or nothing ran), the target did not forbid
// it, the wait fits into the deadline, and the budget has some left.
//
// Only the layer directly above a failure tries again. Once it has, or would have but for its budget, it says so upwards (`noRetry`), and no
// layer further out adds tries of its own: three layers of three tries each would be 27 calls of one.

/** Of what the window allows, the part that may be spent before anything has succeeded: two seconds' worth of ten. */
const LENT = 1 / 5

/** How the attempts of one operation go in and out. */
interface Way {
  readonly inner: Step
  readonly sink: Sink
  /** When the operation must have ended. */
  readonly deadline: number
}

/** The end of the first attempt, which is the only one for most operations. */
class FirstTry implements Way, Sink {
  readonly inner: Step
  readonly sink: Sink
  /** Read before: a deadline further in shortens what the call shows, and its end is not the end of the next attempt. */
  readonly deadline: number
  private readonly retry: Retry
  private readonly call: Call

  constructor(retry: Retry, call: Call, inner: Step, sink: Sink) {
    this.retry = retry
    this.call = call
    this.inner = inner
    this.sink = sink
    this.deadline = call.deadline
  }

  settle(outcome: Outcome<unknown>): void {
    // The common end, without a look at anything else.
    if (outcome.verdict === 'success') {
      this.retry.streak.succeeded()
      this.sink.settle(outcome)
    } else this.retry.decide(this.call, this, outcome, 1)
  }

  succeed(value: unknown): void {
    this.retry.streak.succeeded()
    this.sink.succeed(value)
  }
}

export class Retry implements Policy {
  readonly kind = 'retry'
  readonly path: string
  private readonly env: Env
  private settings: RetrySettings
  private budget: RetryBudget
  /** @internal */ streak: Streak
  /** How to end each wait: close() must not leave a caller behind. */
  private readonly waits = new Set<() => void>()
  private closed = false
  private retries = 0
  private atOnce = 0
  private overBudget = 0

  constructor(settings: RetrySettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.budget = budgetOf(settings)
    this.streak = streakOf(settings)
  }

  /** Other settings, same waits; what is spent stays spent unless the budget itself is another. */
  reconfigure(settings: RetrySettings): void {
    if (!sameBudget(this.settings, settings)) {
      this.budget = budgetOf(settings)
      this.streak = streakOf(settings)
    }
    this.settings = settings
  }

  /** Tries of the budget's window by their number, for the target to see. */
  tries(now: number): readonly number[] {
    return this.budget.tries.counts(now)
  }

  run(call: Call, next: Next, done: Done): void {
    this.step(stepFrom(next))(call, new Answer(done))
  }

  step(inner: Step): Step {
    return (call, sink) => {
      this.budget.request(this.env.now())
      inner(call, new FirstTry(this, call, inner, sink))
    }
  }

  /** @internal `tried` counts our own attempts: the call may carry those of a retry further out. */
  decide(call: Call, way: Way, outcome: Outcome<unknown>, tried: number): void {
    const told = isExhausted(call, outcome) ? withoutRetry(outcome) : outcome
    const wait = this.mayTry(call, told, tried) ? this.pause(call, told, tried) : undefined
    const now = this.env.now()
    // Not later, when the wait is over: the caller would have waited for nothing.
    if (wait === undefined || now + wait >= way.deadline) return this.handUp(call, way, told, tried > 1)
    if (!this.grant(now, tried)) {
      this.overBudget++
      // A ratio of 0 leaves it to others.
      return this.handUp(call, way, told, tried > 1 || this.settings.budget.ratio > 0)
    }
    const attempt = call.again(way.deadline)
    if (wait > 0 || tried > 1) return this.wait(attempt, way, told, wait, tried)
    this.atOnce++
    this.again(attempt, way, told, tried, now)
  }

  /** The window has some left; and, while nothing succeeds, the failures themselves pay for it. */
  private grant(now: number, tried: number): boolean {
    const { budget, streak, settings } = this
    const { minimum } = settings.budget
    if (tried === 1) streak.fail(now)
    // Less than one retry lends none: where calls are few, one failure would have to pay for its retry with ten of them.
    const lent = Math.max(minimum, 1, budget.allowed(now) * LENT)
    if (!streak.allows(lent) && budget.spent(now) >= minimum) return false
    if (!budget.grant(now)) return false
    streak.grant()
    return true
  }

  /** There is somebody to try for, nobody forbade it, and executed twice it does no harm, or it was not executed. */
  private mayTry(call: Call, outcome: Outcome<unknown>, tried: number): boolean {
    if (tried >= this.settings.attempts || this.closed || call.over || outcome.noRetry) return false
    return !outcome.ran || call.idempotent
  }

  /** The wait before the next attempt; undefined: not worth waiting. */
  private pause(call: Call, outcome: Outcome<unknown>, tried: number): number | undefined {
    const { on, backoff, wait, elsewhereAbove, pauseAtMost } = this.settings
    const cause = causeOf(outcome)
    const action = cause === undefined ? 'never' : on[cause]
    if (action === 'never') return undefined
    const random = this.env.random()
    if (outcome.retryAfterMs > 0) {
      // The target's word wins; jitter on top, so that those who were told the same do not come back together.
      return outcome.retryAfterMs > pauseAtMost ? undefined : outcome.retryAfterMs + ceilingMs(backoff, tried) * random
    }
    if (action === 'asked') return undefined
    const { prospects, earlier } = call.extra
    const isBad = (p: Prospects | null | undefined) => p != null && p.usable < elsewhereAbove
    if (isBad(prospects)) {
      // It is not one endpoint that is bad: one more try when some time has passed, and no further ones.
      if (isBad(earlier?.extra.prospects)) return undefined
    } else if (tried === 1 && (action === 'atOnce' || prospects?.elsewhere === true)) return 0
    return wait === undefined ? backoffMs(backoff, tried, random) : said(wait, tried, outcome)
  }

  /** The attempt exists while it waits: a cancel of the last one, a timeout, is over, and a cancel of the next one must be heard. */
  private wait(attempt: Call, way: Way, before: Outcome<unknown>, waitMs: number, tried: number): void {
    const granted = this.env.now()
    const leave = () => {
      cancelTimer()
      this.waits.delete(close)
      this.giveBack(granted, this.env.now())
    }
    const close = () => {
      if (!attempt.resume()) return
      leave()
      this.handUp(attempt, way, before, true)
    }
    const cancelTimer = this.env.after(waitMs, () => {
      this.waits.delete(close)
      if (attempt.resume()) this.again(attempt, way, before, tried, granted)
    })
    this.waits.add(close)
    attempt.wait((cancelled) => {
      leave()
      this.handUp(attempt, way, whole(before, cancelled), true)
    })
  }

  /** The retry that was granted then was not sent after all. */
  private giveBack(granted: number, now: number): void {
    this.budget.giveBack(granted, now)
    this.streak.giveBack()
  }

  private again(attempt: Call, way: Way, before: Outcome<unknown>, tried: number, granted: number): void {
    const { tries } = this.budget
    const began = this.env.now()
    this.retries++
    tries.count(tried, began)
    const ended = new Answer((outcome) => {
      if (outcome.rejection !== undefined) {
        const now = this.env.now()
        if (!outcome.ran) {
          this.giveBack(granted, now)
          tries.takeBack(tried, began, now)
        }
        // What the target itself said last tells the caller more than "and then the breaker opened".
        return this.handUp(attempt, way, before, true)
      }
      const last = whole(before, outcome)
      if (last.verdict === 'success') {
        this.streak.succeeded()
        way.sink.settle(last)
      } else this.decide(attempt, way, last, tried + 1)
    })
    way.inner(attempt, ended)
  }

  /** The end of the operation. `spent`: what retries could do was done here, so that nobody further out is to try again. */
  private handUp(call: Call, way: Way, outcome: Outcome<unknown>, spent: boolean): void {
    const last = spent && causeOf(outcome) !== undefined ? withoutRetry(outcome) : outcome
    if (last.noRetry) tellExhausted(call, last)
    way.sink.settle(last)
  }

  close(): void {
    this.closed = true
    for (const close of [...this.waits]) close()
  }

  get waiting(): number {
    return this.waits.size
  }

  inspect(now: number): Snapshot {
    const { kind, path, retries, waiting, atOnce, overBudget, budget } = this
    const spending = { spent: budget.spent(now), allowed: budget.allowed(now) }
    return { kind, path, retries, waiting, atOnce, overBudget, budget: spending, tries: this.tries(now) }
  }
}

/** What the user's function says; what it throws leaves the attempt without a retry, and the caller with the target's own error. */
function said(wait: NonNullable<RetrySettings['wait']>, retry: number, outcome: Outcome<unknown>): number | undefined {
  try {
    const ms = toMs(wait(retry, outcome))
    return Number.isNaN(ms) ? undefined : ms
  } catch {
    return undefined
  }
}

/** The last outcome for the whole operation: it has run if any attempt did, also when the last one was ended before it began. */
function whole(before: Outcome<unknown>, last: Outcome<unknown>): Outcome<unknown> {
  return last.ran || !before.ran ? last : failed(last.error, last.verdict, true, last.retryAfterMs, last.noRetry)
}

function budgetOf({ budget: { ratio, minimum, over } }: RetrySettings): RetryBudget {
  return new RetryBudget(ratio, minimum, over)
}

function streakOf({ budget: { ratio, over } }: RetrySettings): Streak {
  return new Streak(ratio, over)
}

function sameBudget(a: RetrySettings, b: RetrySettings): boolean {
  return a.budget.ratio === b.budget.ratio && a.budget.minimum === b.budget.minimum && a.budget.over === b.budget.over
}

/** Tries again what failed, timed out or met overload, if the caller said `idempotent` or nothing ran. */
export const retry: Kind<RetryOptions, RetrySettings> = kindOf({
  kind: 'retry',
  options: retryOptions,
  snapshot: retrySnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Retry)) return new Retry(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
