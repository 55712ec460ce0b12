// How many calls may pass, now that the target is back?
//
// Source: the slow start of Envoy, as in our clusters. A target that has just come back has cold caches and empty pools; with all calls at once it
// falls over again (resilience4j #985, Hystrix #1739). So a tenth passes at first, and then the part of the span that is over. Linear, since the
// share at any time can be read off the clock, and the last half of the load comes no faster than the first.
//
// 10 s: a tenth during the first second, 15 % at 1.5 s, half at 5 s, all at 10 s.
//
// Invariant: the share never falls while time goes on, and is 1 from the end on.

const FIRST_SHARE = 0.1

export class Ramp {
  readonly startAt: number
  readonly spanMs: number

  constructor(startAt: number, spanMs: number) {
    this.startAt = startAt
    this.spanMs = spanMs
  }

  /** The share of calls that passes, above 0 to 1. */
  share(now: number): number {
    return Math.min(1, Math.max(FIRST_SHARE, (now - this.startAt) / this.spanMs))
  }

  /** Milliseconds until a call with this draw would pass. Who comes back then comes spread over the rest of the ramp. */
  waitMs(draw: number, now: number): number {
    return Math.max(0, this.startAt + draw * this.spanMs - now)
  }

  /** Milliseconds until all pass. */
  leftMs(now: number): number {
    return this.waitMs(1, now)
  }
}
