import type { Call } from './call.ts'
import type { Permit } from './gate.ts'
import type { Endpoint } from './init.ts'
import type { Outcome, Verdict } from './outcome.ts'

/** Occupancy that outlived its outcome: the caller has gone, the work has not. */
export interface Holding {
  readonly permit: Permit
  /** When it began; -1 where no gate measures latency. */
  readonly since: number
  readonly verdict: Verdict
  readonly next: Holding | null
}

/**
 * What few calls need, made with the first of it: a retry, a signal, a child, a cancel. Kept apart so that the common call is small; garbage
 * was a fifth of the cost of a closed breaker.
 */
export class Aside {
  attempt = 0
  earlier: Call | null = null
  later: Call | null = null
  endpoint: Endpoint | null = null
  controller: AbortController | null = null
  children: Set<Call> | null = null
  holdings: Holding | null = null
  ended: { readonly error: unknown; readonly verdict: Verdict } | null = null
  absorbed = false
  /** Endpoints that this operation has been counted against. */
  blamed = 0
  /** What came of the attempt, where the endpoint's gates were told otherwise. */
  unshielded: Outcome<unknown> | null = null
}
