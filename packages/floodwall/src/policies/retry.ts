import * as v from 'valibot'
import { backoffMs, ceilingMs } from '../algorithms/retry/backoff.ts'
import { RetryBudget } from '../algorithms/retry/budget.ts'
import type { Call } from '../core/call.ts'
import type { Snapshot } from '../core/gate.ts'
import { type Kind, kindOf, snapshotOf } from '../core/layer.ts'
import { failed, type Outcome } from '../core/outcome.ts'
import type { Done, Next, Policy } from '../core/policy.ts'
import type { Env } from '../core/runtime.ts'
import { count, countOrZero, factor, positiveSpan, shareOrZero } from '../core/schema.ts'
import { Answer, type Sink, type Step, stepFrom } from '../core/step.ts'

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
  ...snapshotOf('retry'),
  retries: v.number(),
  waiting: v.number(),
  /** Not tried again because the budget was spent. */
  overBudget: v.number(),
  budget: v.strictObject({ spent: v.number(), allowed: v.number() }),
})

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
    if (outcome.verdict === 'success') this.sink.settle(outcome)
    else this.retry.decide(this.call, this, outcome, 1)
  }
}

class Retry implements Policy {
  readonly kind = 'retry'
  readonly path: string
  private readonly env: Env
  private settings: RetrySettings
  private budget: RetryBudget
  /** How to end each wait: close() must not leave a caller behind. */
  private readonly waits = new Set<() => void>()
  private closed = false
  private retries = 0
  private overBudget = 0

  constructor(settings: RetrySettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.budget = budgetOf(settings)
  }

  /** Other settings, same waits; what is spent stays spent unless the budget itself is another. */
  reconfigure(settings: RetrySettings): void {
    if (!sameBudget(this.settings, settings)) this.budget = budgetOf(settings)
    this.settings = settings
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
    if (tried >= this.settings.attempts || this.closed || call.over || !worthTrying(call, outcome))
      return way.sink.settle(outcome)
    const wait = this.pause(outcome, tried)
    const now = this.env.now()
    // Not later, when the wait is over: the caller would have waited for nothing.
    if (wait === undefined || now + wait >= way.deadline) return way.sink.settle(outcome)
    if (!this.budget.grant(now)) {
      this.overBudget++
      return way.sink.settle(outcome)
    }
    this.wait(call.again(way.deadline), way, outcome, wait, tried)
  }

  /** The attempt exists while it waits: a cancel of the last one, a timeout, is over, and a cancel of the next one must be heard. */
  private wait(attempt: Call, way: Way, before: Outcome<unknown>, waitMs: number, tried: number): void {
    const { budget } = this
    const granted = this.env.now()
    const leave = () => {
      cancelTimer()
      this.waits.delete(close)
      budget.giveBack(granted, this.env.now())
    }
    const close = () => {
      if (!attempt.resume()) return
      leave()
      way.sink.settle(before)
    }
    const cancelTimer = this.env.after(waitMs, () => {
      this.waits.delete(close)
      if (attempt.resume()) this.again(attempt, way, before, tried)
    })
    this.waits.add(close)
    attempt.wait((cancelled) => {
      leave()
      way.sink.settle(whole(before, cancelled))
    })
  }

  private again(attempt: Call, way: Way, before: Outcome<unknown>, tried: number): void {
    this.retries++
    const ended = new Answer((outcome) => {
      // Refused: what the target itself said last tells the caller more than "and then the breaker opened".
      if (outcome.rejection !== undefined) return way.sink.settle(before)
      this.decide(attempt, way, whole(before, outcome), tried + 1)
    })
    way.inner(attempt, ended)
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
    this.closed = true
    for (const close of [...this.waits]) close()
  }

  get waiting(): number {
    return this.waits.size
  }

  inspect(now: number): Snapshot {
    const { kind, path, retries, waiting, overBudget, budget } = this
    return {
      kind,
      path,
      retries,
      waiting,
      overBudget,
      budget: { spent: budget.spent(now), allowed: budget.allowed(now) },
    }
  }
}

/** The last outcome for the whole operation: it has run if any attempt did, also when the last one was ended before it began. */
function whole(before: Outcome<unknown>, last: Outcome<unknown>): Outcome<unknown> {
  return last.ran || !before.ran ? last : failed(last.error, last.verdict, true, last.retryAfterMs, last.noRetry)
}

function budgetOf({ budget: { ratio, minimum, over } }: RetrySettings): RetryBudget {
  return new RetryBudget(ratio, minimum, over)
}

function sameBudget(a: RetrySettings, b: RetrySettings): boolean {
  return a.budget.ratio === b.budget.ratio && a.budget.minimum === b.budget.minimum && a.budget.over === b.budget.over
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
  build(settings, env, previous) {
    if (!(previous instanceof Retry)) return new Retry(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
