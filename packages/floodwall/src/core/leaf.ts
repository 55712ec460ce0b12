import type { Call } from './call.ts'
import { NOTHING, type Run } from './init.ts'
import { answered, failed, type Outcome, traced, type Verdict, verdictByDefault } from './outcome.ts'
import type { Done, Next } from './policy.ts'
import type { Step, Task } from './step.ts'

// The innermost step: runs the work and stamps the verdict. The only place where a stranger's code is called, so the only try/catch.

/** Runs the call's work. */
export const leaf: Step = (call, sink) => {
  if (call.cancelled) return sink.settle(call.cancellation())
  call.run(sink)
  if (call.callbacks) return runCallbacks(call)
  let result: unknown
  try {
    const { on } = call.host.ambient
    const work = call.work as Run
    result = on === null ? (work as (call: Call) => unknown)(call) : on.run(call, work, undefined)
    if (isNative(result)) return finishWith(call, result)
    // Reading `then` runs a stranger's getter, which may throw: inside the try.
    if (isThenable(result)) return finishWith(call, Promise.resolve(result))
  } catch (error) {
    return finish(call, false, error)
  }
  finish(call, true, result)
}

function finishWith(call: Call, result: Promise<unknown>): void {
  result.then(
    (value) => finish(call, true, value),
    (error: unknown) => finish(call, false, error),
  )
}

function finish(call: Call, ok: boolean, value: unknown): void {
  const sink = call.take()
  // Cancelled meanwhile: the caller has its answer, only the occupancy ends here.
  if (sink === null) return void call.end(undefined)
  if (ok && isPlain(call)) {
    if (!call.end(undefined)) return sink.succeed(value)
    return sink.settle(judgeTraced(call, answered(value)))
  }
  const outcome = judge(call, ok, value)
  sink.settle(call.end(undefined) ? judgeTraced(call, outcome) : outcome)
}

function runCallbacks(call: Call): void {
  const { work } = call
  if (typeof work !== 'function') return runTask(call, work)
  let open = true
  const answer: Done = (outcome) => {
    if (!open) return
    open = false
    finishTask(call, outcome)
  }
  try {
    const { on } = call.host.ambient
    if (on === null) (work as Next)(call, answer)
    else on.run(call, work, answer)
  } catch (error) {
    answer(judge(call, false, error))
  }
}

function runTask(call: Call, task: Task): void {
  const { on } = call.host.ambient
  if (on === null) task.run(call)
  else on.run(call, (inner) => task.run(inner), undefined)
}

/** The end of a {@link Task}'s run under `call`: to be called once for each. */
export function finishTask(call: Call, outcome: Outcome<unknown>): void {
  const sink = call.take()
  const isTraced = call.end(undefined)
  if (sink !== null) sink.settle(isTraced ? judgeTraced(call, outcome) : outcome)
}

/**
 * A promise whose `sink` we may call directly: one of this realm, not a subclass that could call back twice. `instanceof` would cost more,
 * and who fakes a constructor gets the TypeError of `sink` as his work's own error.
 */
export function isNative(value: unknown): value is Promise<unknown> {
  try {
    return typeof value === 'object' && value !== null && value.constructor === Promise
  } catch {
    // A getter or proxy that throws is a value like any other: `await` would not have looked.
    return false
  }
}

/** A promise of anybody's. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return typeof (value as { then?: unknown }).then === 'function'
}

/** Nobody judges its answers: each of them is a success. */
function isPlain({ init, host }: Call): boolean {
  return (init === NOTHING ? host.classify : (init.classify ?? host.classify)) === verdictByDefault
}

/** The outcome of a work that returned (`ok`) or threw. */
export function judge(call: Call, ok: boolean, value: unknown): Outcome<unknown> {
  const classify = call.init.classify ?? call.host.classify
  if (ok && classify === verdictByDefault) return answered(value)
  let verdict = 'failure' as Outcome<unknown>['verdict']
  try {
    verdict = classify(ok, value, call)
  } catch {
    // A classifier that throws must not lose the call; failure is the verdict that hides nothing.
  }
  const { retryAfterMs, noRetry } = verdict === 'success' ? NO_WISH : wishOf(value)
  return ok ? answered(value, verdict, retryAfterMs, noRetry) : failed(value, verdict, true, retryAfterMs, noRetry)
}

/** Its verdict: a success that nobody classifies is one without looking further. */
export function verdictOf(call: Call, ok: boolean, value: unknown): Verdict {
  if (ok && call.init === NOTHING && call.host.classify === verdictByDefault) return 'success'
  return judge(call, ok, value).verdict
}

/** The same once the work has traced an error: judged as if thrown, unless the answer was found bad already, or something was thrown. */
export function judgeTraced(call: Call, outcome: Outcome<unknown>): Outcome<unknown> {
  if (!outcome.ok || outcome.verdict !== 'success') return outcome
  return traced(outcome.value, judge(call, false, call.extra.traced?.error))
}

interface Wish {
  readonly retryAfterMs: number
  readonly noRetry: boolean
}

const NO_WISH: Wish = { retryAfterMs: 0, noRetry: false }

/** What the target asked for: adapters put `retryAfterMs` and `noRetry` on the error or the answer that they hand up. */
function wishOf(value: unknown): Wish {
  if (typeof value !== 'object' || value === null) return NO_WISH
  try {
    const { retryAfterMs, noRetry } = value as Partial<Record<keyof Wish, unknown>>
    const wait =
      typeof retryAfterMs === 'number' && Number.isFinite(retryAfterMs) && retryAfterMs > 0 ? retryAfterMs : 0
    return wait === 0 && noRetry !== true ? NO_WISH : { retryAfterMs: wait, noRetry: noRetry === true }
  } catch {
    return NO_WISH
  }
}
