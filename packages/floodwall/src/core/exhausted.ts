import type { Call } from './call.ts'
import type { Outcome } from './outcome.ts'

// How do retries that were made further in keep those further out from being made?
//
// Within a pipeline the outcome says so. Between pipelines there is a promise, which carries the target's own error and nothing else; so the
// calls on whose behalf the attempt was made are told, and recognise the error when it comes to them, bare or as the cause of another.
//
// Told to the calls and not written on the error: errors are shared, and the next operation that meets it begins anew.

/** How far a wrapped error is looked for. */
const DEEPEST_CAUSE = 4

/** What of an outcome its caller gets. */
function told({ ok, value, error }: Outcome<unknown>): unknown {
  return ok ? value : error
}

/** `outcome` goes to those on whose behalf `call` was made, and must not be tried again there. */
export function tellExhausted(call: Call, outcome: Outcome<unknown>): void {
  const exhausted = { told: told(outcome) }
  // Nothing is nobody's error: it could not be recognised.
  if (exhausted.told == null) return
  for (let caller = call.init.parent; caller != null; caller = caller.init.parent) caller.extra.exhausted = exhausted
}

/** True when `outcome` of `call` is what a retry on its behalf was given up with. */
export function isExhausted(call: Call, outcome: Outcome<unknown>): boolean {
  const { exhausted } = call.extra
  if (exhausted === null) return false
  let at = told(outcome)
  for (let deep = 0; deep <= DEEPEST_CAUSE; deep++) {
    if (Object.is(at, exhausted.told)) return true
    at = causeOf(at)
  }
  return false
}

function causeOf(error: unknown): unknown {
  // A stranger's: a getter that throws must not become an error of ours.
  try {
    return typeof error === 'object' && error !== null ? (error as { cause?: unknown }).cause : error
  } catch {
    return error
  }
}
