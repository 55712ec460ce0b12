import type { Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'

/**
 * How many at once? Learns it from how long calls take. Pure: sees time and chance only as arguments.
 *
 * Only what the verdict table calls evidence may be given to it: successes are measurements; timeouts and overloads are drops, whatever they
 * took; failures and what is ignored are neither.
 */
export interface Estimator {
  readonly kind: string
  /** The limit now: a whole number of calls, at least 1. */
  readonly limit: number
  /** A call has ended: it took `tookMs` from the start of its work, `inFlight` were running when it began, itself included. */
  sample(tookMs: number, inFlight: number, verdict: Verdict, now: number): void
  inspect(now: number): Snapshot
}
