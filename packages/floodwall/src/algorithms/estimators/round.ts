import type { Verdict } from '../../core/outcome.ts'

// What did the calls of about one round trip come to?
//
// Source: WindowedLimit of Netflix's concurrency-limits (a window of twice the latency, at least ten samples, the most that were in flight),
// and TCP, which reacts once for each round trip: a hundred calls that time out together are one event, and not a hundred (RFC 5681, 3.1).
//
// 200 calls a second of 20 ms: a round is 100 ms, with 20 samples. Of exponential times their mean is right to 22 %, and a round of twice the
// limit is right to 1 / sqrt(2 · limit): what it errs by in calls grows with the square root of the limit, as the queue does that is allowed.
//
// Invariant: means are of successes alone; drops count whatever they took; a finished round has at least one of either.

/** Less is no time that a call can take: the clock stood still. A tick of it, in milliseconds. */
const LEAST_MS = 0.001
/** A round is not shorter: the reaction that is asked of a limit is 100 ms, two rounds. */
const SHORTEST_MS = 50
/** ... and not longer: calls that time out at 5 s are noticed after two of them. */
const LONGEST_MS = 10_000
/** Twice the limit is two round trips of a service that is full; below 8 a mean says little, above 20 it need not be better. */
const FEWEST = 8
const ENOUGH = 20
/** The first calls came to an idle service: the sooner they stand alone, the less of a queue is in them. */
const FIRST = 4

export class Round {
  /** Of the round that has ended: what a success took on average, in milliseconds; 0 when there was none. */
  meanMs = 0
  /** On how many that stands. */
  calls = 0
  /** The most calls that were in flight in it, and how many on average. */
  peak = 0
  inFlight = 0
  /** The share of drops. */
  dropped = 0
  /** Rounds that have ended. */
  ended = 0

  private successes = 0
  private drops = 0
  private sum = 0
  private sumOfAll = 0
  private most = 0
  private sumInFlight = 0
  private from = -1
  private spanMs = 0

  /** One call; true when it completes the round, whose numbers stand until the next one does. */
  add(tookMs: number, inFlight: number, verdict: Verdict, limit: number, now: number): boolean {
    const took = tookMs > LEAST_MS ? tookMs : LEAST_MS
    if (this.from < 0 || now < this.from) this.from = now
    if (verdict === 'success') {
      this.successes++
      this.sum += took
    } else this.drops++
    this.sumOfAll += took
    this.sumInFlight += inFlight
    if (inFlight > this.most) this.most = inFlight
    if (!this.isOver(limit, now)) return false
    this.end(now)
    return true
  }

  private isOver(limit: number, now: number): boolean {
    const samples = this.successes + this.drops
    if (this.ended === 0) return samples >= FIRST
    if (now - this.from < this.spanMs) return false
    // Who has waited for a round and heard of drops need not wait for more.
    return this.drops > 0 || samples >= Math.min(ENOUGH, Math.max(FEWEST, 2 * limit))
  }

  private end(now: number): void {
    const samples = this.successes + this.drops
    this.meanMs = this.successes === 0 ? 0 : this.sum / this.successes
    this.calls = this.successes
    this.peak = this.most
    this.inFlight = this.sumInFlight / samples
    this.dropped = this.drops / samples
    this.ended++
    this.spanMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, (2 * this.sumOfAll) / samples))
    this.from = now
    this.successes = 0
    this.drops = 0
    this.sum = 0
    this.sumOfAll = 0
    this.most = 0
    this.sumInFlight = 0
  }
}
