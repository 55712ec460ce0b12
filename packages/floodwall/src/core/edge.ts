import type { Call } from './call.ts'
import { dueAt } from './duration.ts'
import { timeoutError } from './errors.ts'
import { type Refuser, Rejection } from './gate.ts'
import { type Init, NOTHING } from './init.ts'
import { refused } from './outcome.ts'
import type { Done } from './policy.ts'

// What ties a call to its caller: his abort signal, his deadline, the call on whose behalf he calls. Only calls that say so pay for it.

/** True for calls that say so. */
export function tied(init: Init): boolean {
  return init !== NOTHING && (init.signal !== undefined || init.parent !== undefined || init.within !== undefined)
}

/**
 * Ties `call` to its init's `parent`, `within` and `signal`. Returns `done`, extended by the untying: no listener, timer or child entry is
 * left behind. When the call is over before it began, `done` has been answered and undefined is returned; `host` refuses what has no time
 * left.
 */
export function tie(call: Call, done: Done, host: Refuser): Done | undefined {
  // What is null has not been said: fetch writes `signal: null`.
  const { parent, within, signal } = call.init
  const { env, aborts } = call.host
  let untied = false
  let cancelTimer: (() => void) | undefined
  const untie = () => {
    untied = true
    cancelTimer?.()
    parent?.orphan(call)
    if (signal != null) aborts.delete(signal, call)
  }
  const answer: Done = (outcome) => {
    untie()
    done(outcome)
  }

  const now = env.now()
  if (parent != null) call.shrinkDeadline(parent.deadline)
  const inherited = call.deadline
  // NaN is a deadline that somebody failed to read: it must not become none.
  if (within != null) call.shrinkDeadline(within > 0 ? dueAt(now, within) : now)
  const left = call.deadline - now
  if (left < Number.POSITIVE_INFINITY) {
    // The parent's own alarm ends this call too, with no evidence against anybody; but a parent that has answered has taken it back.
    const verdict = call.deadline < inherited && !('inherited' in call.init) ? 'timeout' : 'ignored'
    cancelTimer = env.after(left, () => call.cancel(timeoutError('deadline', env.path, left), verdict))
  }
  if (parent?.cancelled === true) call.cancel(parent.cancellation().error, 'ignored')
  else parent?.adopt(call)
  if (signal?.aborted === true) call.cancel(signal.reason, 'ignored')
  else if (signal != null) aborts.add(signal, call)

  if (call.cancelled) {
    if (!untied) answer(call.cancellation())
  } else if (left <= 0) answer(refused(new Rejection(host, 'deadline', 0, 0, 0, true)))
  else return answer
  return undefined
}
