import { TimeRing } from '../stats/time-ring.ts'

// How much of what arrives was tried before?
//
// Source: "Site Reliability Engineering", ch. 21: clients send a histogram of their attempt numbers along, and a server that sees many retries
// in what it is told knows that others refuse, too. Then it answers "overloaded; do not retry".
//
// Two shares over the last ten seconds, of which the greater counts: of the requests themselves (attempt number above 0), and of what their
// callers say of all their calls. 100 requests, of which 4 are retries, from callers who tell of 90 first tries, 8 second and 2 third ones:
// 0.04 and 0.10, so 0.10.
//
// Invariant: a request counts once, whatever it claims: of n requests, k forged ones move the share by k / n at most. 0 while fewer than
// twenty requests are known.

const BUCKETS = 10
const WIDTH_MS = 1000
/** Fewer say nothing; as many as Hystrix wants calls. */
const LEAST = 20

const REQUESTS = 0
const RETRIES = 1
const TOLD = 2

export class RetryShare {
  private readonly ring = new TimeRing(BUCKETS, WIDTH_MS, 3)

  /** A request came: `attempt` is 0 for a first try; `told` counts the caller's calls by attempt number, and is empty when it did not say. */
  seen(attempt: number, told: readonly number[], now: number): void {
    const retried = attempt > 0 ? 1 : 0
    this.ring.add(REQUESTS, 1, now)
    if (retried > 0) this.ring.add(RETRIES, retried, now)
    const later = laterShare(told) ?? retried
    if (later > 0) this.ring.add(TOLD, later, now)
  }

  /** From 0 to 1. */
  share(now: number): number {
    const requests = this.ring.total(REQUESTS, now)
    return requests < LEAST ? 0 : Math.max(this.ring.total(RETRIES, now), this.ring.total(TOLD, now)) / requests
  }
}

/** What of the calls was no first try; undefined of none. */
function laterShare(counts: readonly number[]): number | undefined {
  let all = 0
  for (const count of counts) all += count
  return all > 0 ? 1 - (counts[0] as number) / all : undefined
}
