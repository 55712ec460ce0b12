import { TimeRing } from '../stats/time-ring.ts'

// How many calls were wanted lately, how many of them did the target accept, and what share of the next ones is too much?
//
// Source: client-side throttling in "Site Reliability Engineering", ch. 21: at most K calls are sent for each one that is accepted, by dropping
// the share max(0, (requests - K · accepts) / (requests + 1)) before it is sent.
//
// There `requests` contains what was dropped. That is right when the target says "too much": what was dropped would have been refused, and
// without it twice the load would send 1.4 times as much. It is wrong when the target fails: then the drops themselves become the proof that the
// target is bad, 49 % of success turn into none, and one that is well again stays shut out for minutes (go-zero #4101, kratos #2777). So what
// was refused here has a count of its own, and weighs as much as refusals do in what was not accepted there.
//
// K 2, 40 sent, 12 accepted, 60 dropped. If the other 28 failed: (40 - 24) / 41, 39 % are dropped. If they were refused: (100 - 24) / 101, 75 %.
//
// Invariants: 0 <= accepts <= requests; the share is in [0, 1), is 0 up to requests = K · accepts, and an accepted call never raises it.

const ACCEPTED = 0
const FAILED = 1
const OVERLOADED = 2
const REFUSED = 3
const LANES = 4

/** The formula; 0 where nothing was asked. */
export function dropShare(requests: number, accepts: number, k: number): number {
  const excess = requests - k * accepts
  return excess > 0 ? excess / (requests + 1) : 0
}

export class ThrottleWindow {
  private readonly ring: TimeRing

  constructor(overMs: number, buckets: number) {
    this.ring = new TimeRing(buckets, overMs / buckets, LANES)
  }

  get spanMs(): number {
    return this.ring.spanMs
  }

  /** A bucket: the counts of the past change no sooner. */
  get widthMs(): number {
    return this.ring.widthMs
  }

  countAccepted(now: number): void {
    this.ring.count(ACCEPTED, now)
  }

  /** It failed or timed out there. */
  countFailed(now: number): void {
    this.ring.count(FAILED, now)
  }

  /** The target said "too much". */
  countOverloaded(now: number): void {
    this.ring.count(OVERLOADED, now)
  }

  /** It was refused here. */
  countRefused(now: number): void {
    this.ring.count(REFUSED, now)
  }

  accepts(now: number): number {
    return this.ring.total(ACCEPTED, now)
  }

  failed(now: number): number {
    return this.ring.total(FAILED, now)
  }

  overloaded(now: number): number {
    return this.ring.total(OVERLOADED, now)
  }

  refused(now: number): number {
    return this.ring.total(REFUSED, now)
  }

  /** Answers of any kind. */
  results(now: number): number {
    return this.accepts(now) + this.failed(now) + this.overloaded(now)
  }

  requests(now: number): number {
    const overloaded = this.overloaded(now)
    const sent = this.results(now)
    return overloaded === 0 ? sent : sent + (this.refused(now) * overloaded) / (overloaded + this.failed(now))
  }

  drop(k: number, now: number): number {
    return dropShare(this.requests(now), this.accepts(now), k)
  }

  /** Nobody asked and nobody answered. */
  empty(now: number): boolean {
    return this.results(now) === 0 && this.refused(now) === 0
  }

  clear(now: number): void {
    this.ring.clear(now)
  }
}
