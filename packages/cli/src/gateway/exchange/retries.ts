import type { Outcome, Reason } from 'floodwall'
import type { RetryShare } from 'floodwall/server'

// When does a refusal mean "not again, by nobody"?
//
// Source: "Site Reliability Engineering", ch. 21: where many of the requests are retries, others of the kind refuse, too, and another try
// meets them again. The callers hear of it, and pass it on.

/** Refusals that say "too much" or "not now"; who draws up a rate, or has no time left, is not helped by silence. */
const OF_LOAD: ReadonlySet<Reason> = new Set<Reason>([
  ...(['overloaded', 'full', 'queue-full', 'queue-timeout', 'throttled', 'open', 'probing', 'ramping'] as const),
  ...(['unreachable', 'recovering'] as const),
])

/** `outcome` was refused for load, of which more than a share of `atMost` was tried before. */
export function isFlooded({ rejection }: Outcome<unknown>, retries: RetryShare, atMost: number, now: number): boolean {
  return rejection !== undefined && OF_LOAD.has(rejection.reason) && retries.share(now) > atMost
}
