import type { Verdict } from '../../core/outcome.ts'

// What does the end of a call say about its target?
//
// Overload is an answer, and a caller who left proves nothing; but who was given the slow limit and got nothing has seen enough. A client with a
// deadline of 1 ms must not open a breaker for everybody.
//
// slowAfter 250 ms: a timeout after 1 ms says nothing, one after 250 ms counts; a caller who left after 300 ms counts as a timeout.

/** As which verdict it counts, or null: it says nothing. */
export function evidenceOf(verdict: Verdict, tookMs: number, slowAfter: number | undefined): Verdict | null {
  if (verdict === 'success' || verdict === 'failure') return verdict
  if (verdict === 'timeout') return slowAfter === undefined || tookMs >= slowAfter ? 'timeout' : null
  return verdict === 'ignored' && slowAfter !== undefined && tookMs >= slowAfter ? 'timeout' : null
}
