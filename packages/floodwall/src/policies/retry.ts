import * as v from 'valibot'
import { backoffMs, ceilingMs } from '../algorithms/retry/backoff.ts'
import { RetryBudget } from '../algorithms/retry/budget.ts'
import type { Call } from '../core/call.ts'
import type { Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotBase } from '../core/layer.ts'
import { failed, type Outcome } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { count, countOrZero, factor, positiveSpan, shareOrZero } from '../core/schema.ts'

// Again, and when?
//
// A retry is a loan from an overloaded future, so it must be worth it: the work may run twice (or nothing ran), the target did not forbid
// it, the wait fits into the deadline, and the budget has some left.

const retryOptions = v.strictObject({
  /** Tries in all, the first included. Default 3. */
  attempts: v.optional(count, 3),
  /** Full jitter below a ceiling that starts at `first`, grows by `factor` and stops at `atMost`. Default 50 ms, 2, 2 s. */
  backoff: v.optional(
    v.strictObject({
      first: v.optional(positiveSpan, '50ms'),
      factor: v.optional(factor, 2),
      atMost: v.optional(positiveSpan, '2s'),
    }),
    {},
  ),
  /** Retries are at most `ratio` of the requests of the last `over`, or `minimum` where that is more. Default 0.1, 3, 10 s. */
  budget: v.optional(
    v.strictObject({
      ratio: v.optional(shareOrZero, 0.1),
      minimum: v.optional(countOrZero, 3),
      over: v.optional(positiveSpan, '10s'),
    }),
    {},
  ),
  /** A target that asks for a longer pause than this is not waited for. Default 60 s. */
  pauseAtMost: v.optional(positiveSpan, '60s'),
})

export type RetryOptions = v.InferInput<typeof retryOptions>
type RetrySettings = v.InferOutput<typeof retryOptions>

const retrySnapshot = v.strictObject({
  ...snapshotBase('retry'),
  retries: v.number(),
  waiting: v.number(),
  /** Not tried again because the budget was spent. */
  overBudget: v.number(),
  budget: v.strictObject({ spent: v.number(), allowed: v.number() }),
})

export class Retry implements Policy {
  readonly kind = 'retry'
  readonly path: string
  private readonly env: Env
  private readonly settings: RetrySettings
  private readonly budget: RetryBudget
  /** How to end each wait: close() must not leave a caller behind. */
  private readonly waits = new Set<() => void>()
  private retries = 0
  private overBudget = 0

  constructor(settings: RetrySettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    const { ratio, minimum, over } = settings.budget
    this.budget = new RetryBudget(ratio, minimum, over)
  }

  run(call: Call, next: Next, done: Done): void {
    this.budget.request(this.env.now())
    next(call, (outcome) => {
      // The common end, without a look at anything else.
      if (outcome.verdict === 'success') return done(outcome)
      this.decide(call, next, done, outcome, 1)
    })
  }

  /** `tried` counts our own attempts: the call may carry those of a retry further out. */
  private decide(call: Call, next: Next, done: Done, outcome: Outcome<unknown>, tried: number): void {
    if (tried >= this.settings.attempts || call.over || !worthTrying(call, outcome)) return done(outcome)
    const wait = this.pause(outcome, tried)
    const now = this.env.now()
    // Not later, when the wait is over: the caller would have waited for nothing.
    if (wait === undefined || now + wait >= call.deadline) return done(outcome)
    if (!this.budget.grant(now)) {
      this.overBudget++
      return done(outcome)
    }
    this.wait(call, wait, done, () => this.again(call, next, done, outcome, tried), outcome)
  }

  private wait(call: Call, waitMs: number, done: Done, go: () => void, outcome: Outcome<unknown>): void {
    const leave = () => {
      cancelTimer()
      this.waits.delete(close)
      this.budget.giveBack(this.env.now())
    }
    const close = () => {
      if (!call.resume()) return
      leave()
      done(outcome)
    }
    const cancelTimer = this.env.after(waitMs, () => {
      this.waits.delete(close)
      if (call.resume()) go()
    })
    this.waits.add(close)
    call.wait((cancelled) => {
      leave()
      done(cancelled)
    })
  }

  private again(call: Call, next: Next, done: Done, before: Outcome<unknown>, tried: number): void {
    this.retries++
    const attempt = call.again()
    next(attempt, (outcome) => {
      // Refused before it ran: what the target itself said last tells the caller more than "and then the breaker opened".
      if (!outcome.ran && !attempt.over) return done(before)
      // Ended from outside before this attempt began: the operation has run all the same.
      if (!outcome.ran && before.ran) return done(failed(outcome.error, outcome.verdict))
      this.decide(attempt, next, done, outcome, tried + 1)
    })
  }

  /** The wait before the next attempt; undefined: not worth waiting. */
  private pause(outcome: Outcome<unknown>, tried: number): number | undefined {
    const { backoff, pauseAtMost } = this.settings
    const random = this.env.random()
    if (outcome.retryAfterMs === 0) return backoffMs(backoff, tried, random)
    if (outcome.retryAfterMs > pauseAtMost) return undefined
    // The target named a time; jitter on top, so that those who were told the same do not come back together.
    return outcome.retryAfterMs + ceilingMs(backoff, tried) * random
  }

  close(): void {
    for (const close of [...this.waits]) close()
  }

  inspect(now: number): Snapshot {
    const { kind, path, retries, overBudget, budget } = this
    return {
      kind,
      path,
      retries,
      waiting: this.waits.size,
      overBudget,
      budget: { spent: budget.spent(now), allowed: budget.allowed(now) },
    }
  }
}

/** Broken, too slow or overloaded; and executed never, or harmless when executed twice. */
function worthTrying(call: Call, outcome: Outcome<unknown>): boolean {
  if (outcome.noRetry || outcome.verdict === 'ignored' || outcome.verdict === 'success') return false
  return !outcome.ran || call.idempotent
}

/** Tries again what failed, timed out or met overload, if the caller said `idempotent` or nothing ran. */
export const retry: Kind<RetryOptions, RetrySettings> = kindOf({
  kind: 'retry',
  options: retryOptions,
  snapshot: retrySnapshot,
  build: (settings, env) => new Retry(settings, env),
})
