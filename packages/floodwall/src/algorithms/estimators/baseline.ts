// How long does a call take when it need not wait?
//
// Source: the no-load time of TCP Vegas (Brakmo and Peterson, 1994) and of Netflix's concurrency-limits, without what is wrong with theirs. A
// least sample is luck where times vary. An average of what happens takes in the queue that it is meant to show, so that under mild overload
// the limit grows for ever (Netflix #165). A probe under load measures the load (#35). A minimum that is kept for ever never learns that the
// service has become slower.
//
// So it follows the means of rounds in which half of the limit was free, upwards to twice its least at most. Under load it can fall but not
// rise, with one exception: the limit was halved, and calls take as long as before. A queue of our making would be half as long; so
// it is none, and the service itself has become slow.
//
// 20 ms; under load 25 ms for ten minutes: 20 ms still. 60 ms instead, limit 38: at 19 it is 60 ms as before, and this is the baseline now.
//
// Invariant: above 0 once there was a mean; under load it rises only after the limit was halved.

/** Weight of a round in what calls take now. */
const WEIGHT = 0.5
/** Weight of a round in the baseline, where half of the limit was free. */
const BASE_WEIGHT = 0.2
/** Under load it is at most so many deviations above the calls that took less: the least of what chance brings would be too little. */
const DEVIATIONS = 3
/** What idle rounds may raise it by: a limit that is too high is no proof that nobody queues. */
const DRIFT = 2
/** A queue at half of the limit takes 0.5 of the time, and at a quarter 0.25; so much of it is no queue of ours. */
const UNMOVED_AT_HALF = 0.8
const UNMOVED_AT_A_QUARTER = 0.6
/** Calls on which that is said: the mean of 64 exponential times is right to 12 %. */
const SURE = 64

export class Baseline {
  /** In milliseconds; 0 before the first round. */
  valueMs = 0
  /** What calls take now. */
  latencyMs = 0
  /** How often it was raised since calls took as long at half of the limit. */
  raised = 0
  private leastMs = 0
  /** What it was before it was raised, and to what: 0 when that is over. */
  private wellMs = 0
  private raisedMs = 0
  private nearer = 0
  /** The mean of the last round, if half of the limit was free in it; else 0. */
  private freeMs = 0
  /** Calls of the last rounds in a row that took less than the baseline, under load. */
  private easyCalls = 0
  private easyMs = 0
  /** Where the limit was when it began to fall, and the most that calls took there. */
  private topLimit = 0
  private topMs = 0
  /** Calls that ended at half of it or less, and what they took in all. */
  private calls = 0
  private sumMs = 0
  /** Where the limit was when that was judged last. */
  private judgedAt = Infinity

  /**
   * True when it has just found that calls under load need less than it knew: until that is over, the limit had better wait.
   *
   * @param calls on how many the mean stands
   * @param loaded whether more than half of the limit was in use on average
   */
  learn(meanMs: number, calls: number, limit: number, loaded: boolean): boolean {
    if (this.valueMs === 0) {
      this.valueMs = meanMs
      this.leastMs = meanMs
      this.latencyMs = meanMs
    }
    this.latencyMs += (meanMs - this.latencyMs) * WEIGHT
    const before = this.valueMs
    if (loaded) this.underLoad(meanMs, calls, limit)
    else this.free(meanMs)
    return loaded && this.valueMs < before
  }

  private underLoad(meanMs: number, calls: number, limit: number): void {
    this.freeMs = 0
    if (this.isWellAgain(meanMs)) this.move(this.wellMs)
    if (meanMs <= this.valueMs) return this.noQueue(meanMs, calls)
    this.easyCalls = 0
    this.easyMs = 0
    if (limit >= this.topLimit * 0.75) this.atTheTop(meanMs, limit)
    else if (limit * 2 <= this.topLimit) this.below(meanMs, calls, limit)
  }

  /** A round that was free is believed when the next one is: calls that a burst made slow began before it was seen. */
  private free(meanMs: number): void {
    const before = this.freeMs
    this.topLimit = 0
    this.freeMs = meanMs
    if (before === 0) return
    const next = this.valueMs + (before - this.valueMs) * BASE_WEIGHT
    this.move(Math.min(next, Math.max(this.valueMs, DRIFT * this.leastMs)))
  }

  private noQueue(meanMs: number, calls: number): void {
    this.topLimit = 0
    this.easyCalls += calls
    this.easyMs += meanMs * calls
    // Of times as they are in practice, the deviation is about the mean.
    const atMost = this.easyMs / this.easyCalls / (1 - DEVIATIONS / Math.sqrt(this.easyCalls))
    if (atMost > 0 && atMost < this.valueMs) this.move(atMost)
  }

  /** Two rounds in a row that are nearer to what calls took before it was raised than to what it was raised to: that is over. */
  private isWellAgain(meanMs: number): boolean {
    const isNearer = this.wellMs > 0 && meanMs * meanMs < this.wellMs * this.raisedMs
    this.nearer = isNearer ? this.nearer + 1 : 0
    return this.nearer >= 2
  }

  private atTheTop(meanMs: number, limit: number): void {
    this.topMs = limit > this.topLimit ? meanMs : Math.max(this.topMs, meanMs)
    this.topLimit = Math.max(limit, this.topLimit)
    this.calls = 0
    this.sumMs = 0
    this.judgedAt = Infinity
  }

  private below(meanMs: number, calls: number, limit: number): void {
    this.calls += calls
    this.sumMs += meanMs * calls
    if (this.calls < SURE) return
    const ms = this.sumMs / this.calls
    this.calls = 0
    this.sumMs = 0
    const unmoved = limit * 4 > this.topLimit ? UNMOVED_AT_HALF : UNMOVED_AT_A_QUARTER
    if (ms > this.topMs * unmoved) this.raise(ms)
    // The fall is over: what was at its beginning says nothing of what comes later.
    else if (limit >= this.judgedAt) this.topLimit = 0
    else this.judgedAt = limit
  }

  private raise(toMs: number): void {
    this.raised++
    this.topLimit = 0
    this.wellMs = this.valueMs
    this.raisedMs = toMs
    this.valueMs = toMs
    this.leastMs = toMs
  }

  private move(toMs: number): void {
    this.valueMs = toMs
    if (toMs < this.leastMs) this.leastMs = toMs
    if (toMs <= this.wellMs) this.wellMs = 0
  }
}
