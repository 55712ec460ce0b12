import type { Reservable } from './rate.ts'
import { Tokens } from './tokens.ts'

// How often, with some bursts allowed?
//
// Source: the token bucket of RFC 2697 and of every network textbook. Tokens are a double and time is read when asked: rates below one
// and above a thousand per second are exact, there is no timer, and a 30-day period is as good as a second.
//
// rate 1/s, burst 10: take 3 at once, 7 are left; after 500 ms 7.5. A take of 8 then is refused, "try again in 500 ms".
//
// Invariant: in any span t at most burst + rate · t is granted; tokens never pass the burst.

export class Bucket extends Tokens implements Reservable {
  readonly kind = 'tokenBucket'

  take(cost: number, now: number): number {
    return this.takes(cost, now) ? 0 : this.waitFor(cost)
  }

  reserve(cost: number, now: number, atMostMs: number): number {
    const waitMs = this.take(cost, now)
    // Infinity is no wait, however patient: nothing is promised that never comes.
    if (waitMs > 0 && waitMs <= atMostMs && waitMs !== Number.POSITIVE_INFINITY) this.tokens -= cost
    return waitMs
  }
}
