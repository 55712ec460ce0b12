import type { Call } from './call.ts'
import { timeoutError } from './errors.ts'
import type { Done } from './policy.ts'

// What ties a call to its caller: his abort signal, his deadline, the call on whose behalf he calls. Only calls that say so pay for it.

/**
 * Ties `call` to its init's `parent`, `within` and `signal`. Returns `done`, extended by the untying: no listener, timer or child entry is
 * left behind. When the call is over before it began, the returned function has been answered and undefined is returned.
 */
export function tie(call: Call, done: Done): Done | undefined {
  const { parent, within, signal } = call.init
  const { env } = call.host
  let untied = false
  let cancelTimer: (() => void) | undefined
  const untie = () => {
    untied = true
    cancelTimer?.()
    parent?.orphan(call)
    signal?.removeEventListener('abort', onAbort)
  }
  const answer: Done = (outcome) => {
    untie()
    done(outcome)
  }
  function onAbort(): void {
    call.cancel(signal?.reason, 'ignored')
  }

  if (parent !== undefined) call.deadline = parent.deadline
  const given = within !== undefined && Number.isFinite(within) ? within : undefined
  const own = given === undefined ? Number.POSITIVE_INFINITY : env.now() + given
  if (own < call.deadline) {
    call.deadline = own
    cancelTimer = env.after(given as number, () =>
      call.cancel(timeoutError('deadline', env.path, given as number), 'timeout'),
    )
  }
  if (parent?.cancelled === true) call.cancel(parent.cancellation().error, 'ignored')
  else parent?.adopt(call)
  if (signal?.aborted === true) onAbort()
  else signal?.addEventListener('abort', onAbort)

  if (!call.cancelled) return answer
  if (!untied) answer(call.cancellation())
  return undefined
}
