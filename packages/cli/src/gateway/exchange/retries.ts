import type { Outcome, Reason } from 'floodwall'
import type { RetryShare } from 'floodwall/server'

// When does a refusal mean "not again, by nobody"?
//
// Source: "Site Reliability Engineering", ch. 21: where many of the requests are retries, others of the kind refuse, too, and another try
// meets them again. The callers hear of it, and pass it on.

/** With more retries among the requests of a route, those that are refused are told not to be tried again. */
const RETRIES_AT_MOST = 0.1

/** Refusals that say "too much" or "not now"; who draws up a rate, or has no time left, is not helped by silence. */
const OF_LOAD: ReadonlySet<Reason> = new Set<Reason>([
  ...(['overloaded', 'full', 'queue-full', 'queue-timeout', 'throttled', 'open', 'probing', 'ramping'] as const),
  ...(['unreachable', 'recovering'] as const),
])

/** `outcome` was refused for load, and too much of the load is tried again already. */
export function isFlooded({ rejection }: Outcome<unknown>, retries: RetryShare, now: number): boolean {
  return rejection !== undefined && OF_LOAD.has(rejection.reason) && retries.share(now) > RETRIES_AT_MOST
}
