import type { Call } from './call.ts'
import { isRejected, isTimeout } from './errors.ts'
import type { Rejection } from './gate.ts'

/**
 * How a piece of work ended, in five words that every layer reads the same way (docs/verdicts.md has the table):
 * `success` it answered, its latency is evidence · `failure` it broke · `timeout` it was too slow · `overload` it said "too much" ·
 * `ignored` no evidence at all (the caller left, a bad request, nothing ran).
 */
export type Verdict = 'success' | 'failure' | 'timeout' | 'overload' | 'ignored'

/** Turns what the work returned (`ok`) or threw into a verdict. One per pipeline, or per call. */
export type Classify = (ok: boolean, valueOrError: unknown, call: Call) => Verdict

/** What came of a call, as a value. `ran: false` means that nothing was executed: it is safe to send it elsewhere. */
export type Outcome<T> = {
  readonly verdict: Verdict
  /** False when nothing was executed. */
  readonly ran: boolean
  /** The refusal, when a gate said no. */
  readonly rejection: Rejection | undefined
  /** The target's wish: not before so many milliseconds. 0: none. */
  readonly retryAfterMs: number
  /** Not to be tried again: the target wishes it so, or a retry further in has done what could be done. */
  readonly noRetry: boolean
} /** The `error` of an answer is the one that its work traced, see `call.traceError`; undefined else. */ & (
  | { readonly ok: true; readonly value: T; readonly error: unknown }
  | { readonly ok: false; readonly value: undefined; readonly error: unknown }
)

/** The one class behind every {@link Outcome}. */
class Settled {
  readonly ok: boolean
  readonly value: unknown
  readonly error: unknown
  readonly verdict: Verdict
  readonly ran: boolean
  readonly rejection: Rejection | undefined
  readonly retryAfterMs: number
  readonly noRetry: boolean

  constructor(
    ok: boolean,
    value: unknown,
    error: unknown,
    verdict: Verdict,
    ran: boolean,
    rejection: Rejection | undefined,
    retryAfterMs: number,
    noRetry: boolean,
  ) {
    this.ok = ok
    this.value = value
    this.error = error
    this.verdict = verdict
    this.ran = ran
    this.rejection = rejection
    this.retryAfterMs = retryAfterMs
    this.noRetry = noRetry
  }
}

/** It answered. A classifier may still have found the answer wanting (a 500): then the verdict is not `success`. */
export function answered<T>(value: T, verdict: Verdict = 'success', retryAfterMs = 0, noRetry = false): Outcome<T> {
  return new Settled(true, value, undefined, verdict, true, undefined, retryAfterMs, noRetry) as Outcome<T>
}

/** It answered, and said itself that it failed: `failure` is what came of the error, had it been thrown. */
export function traced(value: unknown, failure: Outcome<unknown>): Outcome<unknown> {
  const { error, verdict, retryAfterMs, noRetry } = failure
  return new Settled(true, value, error, verdict, true, undefined, retryAfterMs, noRetry) as Outcome<unknown>
}

/** It threw. `ran: false` when the work knows that nothing was executed. */
export function failed(
  error: unknown,
  verdict: Verdict = 'failure',
  ran = true,
  retryAfterMs = 0,
  noRetry = false,
): Outcome<never> {
  return new Settled(false, undefined, error, verdict, ran, undefined, retryAfterMs, noRetry) as Outcome<never>
}

/** The same, and nobody further out is to try again. */
export function withoutRetry(outcome: Outcome<unknown>): Outcome<unknown> {
  const { ok, value, error, verdict, ran, rejection, retryAfterMs, noRetry } = outcome
  if (noRetry) return outcome
  return new Settled(ok, value, error, verdict, ran, rejection, retryAfterMs, true) as Outcome<unknown>
}

/** The same, with another word on when to ask again. */
export function withRetryAfter(outcome: Outcome<unknown>, retryAfterMs: number): Outcome<unknown> {
  const { ok, value, error, verdict, ran, rejection, noRetry } = outcome
  return new Settled(ok, value, error, verdict, ran, rejection, retryAfterMs, noRetry) as Outcome<unknown>
}

/** A gate said no; the error is made at the edge, only for those who want one. */
export function refused(rejection: Rejection): Outcome<never> {
  return new Settled(
    false,
    undefined,
    undefined,
    'ignored',
    false,
    rejection,
    rejection.retryAfterMs,
    false,
  ) as Outcome<never>
}

/**
 * The verdict when nobody classifies: an answer is a success, an error is a failure, except for our own errors and the platform's:
 * a refusal by another pipeline is no evidence (nothing ran there), a `TimeoutError` is a timeout, an `AbortError` means that somebody left.
 */
export const verdictByDefault: Classify = (ok, valueOrError) => (ok ? 'success' : verdictOfError(valueOrError))

/** @see verdictByDefault */
export function verdictOfError(error: unknown): Verdict {
  if (typeof error !== 'object' || error === null) return 'failure'
  // The error is a stranger's: a getter that throws must not become an error of ours.
  try {
    if (isRejected(error)) return 'ignored'
    if (isTimeout(error)) return 'timeout'
    const { name } = error as { name?: unknown }
    if (name === 'AbortError') return 'ignored'
    if (name === 'TimeoutError') return 'timeout'
  } catch {
    return 'failure'
  }
  return 'failure'
}
