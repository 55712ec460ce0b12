import type { Verdict } from '../core/outcome.ts'

/** From here on a status says that the server could not do it. */
const FIRST_FAULT = 500

/** A status that says so; NaN does not. */
export function isFault(status: number): boolean {
  return status >= FIRST_FAULT
}

/** It said "too much": overload. It could not: failure. All else is an answer, since a 404 is the right one to a wrong question. */
export function verdictOf(status: number): Verdict {
  if (status === 429 || status === 503) return 'overload'
  return isFault(status) ? 'failure' : 'success'
}
