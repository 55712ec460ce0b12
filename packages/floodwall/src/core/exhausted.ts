import { operationOf } from './attempts.ts'
import type { Call } from './call.ts'
import type { Outcome } from './outcome.ts'

// How do retries that were made further in keep those further out from being made?
//
// Within a pipeline the outcome says so. Between pipelines there is a promise, which carries the target's own error and nothing else; so the
// calls on whose behalf the attempt was made are told, and recognise the error when it comes to them: bare, as the cause of another, or among
// the `errors` of several. They are told of each: sub-calls run side by side, and which of their errors comes up is decided later.
//
// Told to the calls and not written on the error: errors are shared, and the next operation that meets it begins anew.
//
// Invariant: a call that lives long keeps no error alive by having been told of it.

/** How far a wrapped error is looked for. */
const DEEPEST_CAUSE = 4
/** So many errors are looked at in all: each may have several. */
const MOST_LOOKED_AT = 256

/** What retries on behalf of one call were given up with. */
export class Exhausted {
  private readonly errors = new WeakSet<object>()
  /** The last one that is no object: those are held by value, and one is enough of what nobody should throw. */
  private word: unknown

  add(told: unknown): void {
    if (isObject(told)) this.errors.add(told)
    else this.word = told
  }

  /** True if it is one of them, or made of one. */
  has(error: unknown): boolean {
    let left = MOST_LOOKED_AT
    const look = (at: unknown, deep: number): boolean => {
      // Nothing is nobody's error: it could not be recognised.
      if (at == null || left-- <= 0) return false
      if (!isObject(at)) return Object.is(at, this.word)
      if (this.errors.has(at)) return true
      if (deep === DEEPEST_CAUSE) return false
      // A stranger's: a getter that throws must not become an error of ours.
      try {
        const { cause, errors } = at as { readonly cause?: unknown; readonly errors?: unknown }
        return look(cause, deep + 1) || (Array.isArray(errors) && errors.some((each) => look(each, deep + 1)))
      } catch {
        return false
      }
    }
    return look(error, 0)
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

/** What of an outcome its caller gets. */
function told({ ok, value, error }: Outcome<unknown>): unknown {
  return ok ? value : error
}

/**
 * `outcome` goes to those on whose behalf `call` was made, and must not be tried again there. Unless it could not be tried again for its body
 * alone: nobody has, so the first who can may.
 */
export function tellExhausted(call: Call, outcome: Outcome<unknown>): void {
  const error = told(outcome)
  if (error == null) return
  const { bodyGone, attempts } = operationOf(call)
  if (bodyGone && attempts === 1) return
  for (let caller = call.init.parent; caller != null; caller = caller.init.parent) {
    caller.extra.exhausted ??= new Exhausted()
    caller.extra.exhausted.add(error)
  }
}

/** True when `outcome` of `call` is what a retry on its behalf was given up with. */
export function isExhausted(call: Call, outcome: Outcome<unknown>): boolean {
  const { exhausted } = call.extra
  return exhausted?.has(told(outcome)) === true
}

/** The work of `call` failed with `error`: where it was told of others, but not of this one, it had made good for them. */
export function forgetMadeGood(call: Call, error: unknown): void {
  const { extra } = call
  if (extra.exhausted?.has(error) === false) extra.exhausted = null
}
