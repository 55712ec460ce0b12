import type { BrpcFlagValues } from './flags.ts'
import { smoothOf } from './smooth.ts'

// Do the errors of this window cost too much?
//
// Source: one of the two windows of apache/brpc's circuit breaker (commit 71871ee9), whole numbers and all. A success leaves `smooth` of
// the cost, a failure adds its latency, at most `multiple` average successes.
//
// 1500 calls, 10 %, successes of 10 ms: the limit is 10000 · 1500 · 0.1 · 1.02 = 1530000 us. 76 timeouts in a row cost 20000 us each, 1520000
// in all, and pass; the 77th does not.
//
// Invariant: the cost is a whole number of microseconds. Every step is cut toward 0, which makes the average lean down by up to 40 % where
// latencies vary (`ErrorCost` does not); a replica that rounds drifts away from brpc within a few calls.

/** Of the flags, what a window reads on every call. */
type Live = Pick<BrpcFlagValues, 'epsilonValue' | 'minErrorCostUs' | 'maxFailedLatencyMultiple'>

export class BrpcErrorRecorder {
  readonly windowSize: number
  readonly errorPercent: number
  readonly smooth: number
  /** Calls seen, counted up to the window size: below it this is the first window. */
  samples = 0
  /** Failures of the first window. */
  errors = 0
  /** Average latency of successes; 0 before the first. */
  emaLatencyUs = 0
  emaErrorCostUs = 0
  /** As many errors of the first window pass; the next one does not. */
  private readonly budget: number

  constructor(windowSize: number, errorPercent: number, epsilon: number) {
    this.windowSize = windowSize
    this.errorPercent = errorPercent
    this.smooth = smoothOf(epsilon, windowSize)
    this.budget = Math.trunc((windowSize * errorPercent) / 100)
  }

  /** Healthy still? */
  onCallEnd(failed: boolean, latencyUs: number, flags: Live): boolean {
    if (!failed) this.learn(latencyUs)
    const healthy = this.charge(failed ? latencyUs : 0, flags)
    if (this.samples >= this.windowSize) return healthy
    // The first window collects the cost, but judges by the number of errors alone.
    this.samples++
    if (!failed) return true
    this.errors++
    return this.errors <= this.budget
  }

  /** Past its first window it keeps the average, and gets no second first window. */
  reset(): void {
    if (this.samples < this.windowSize) {
      this.samples = 0
      this.errors = 0
      this.emaLatencyUs = 0
    }
    this.emaErrorCostUs = 0
  }

  private learn(latencyUs: number): void {
    const average = this.emaLatencyUs
    this.emaLatencyUs = average === 0 ? latencyUs : whole(average * this.smooth + latencyUs * (1 - this.smooth))
  }

  private charge(latencyUs: number, flags: Live): boolean {
    const average = this.emaLatencyUs
    // A failure in 0 us costs nothing, and counts as a success. A negative average makes even a success cost something.
    const cost = average === 0 ? latencyUs : Math.min(average * flags.maxFailedLatencyMultiple, latencyUs)
    if (cost === 0) {
      const left = this.emaErrorCostUs
      if (left !== 0) this.emaErrorCostUs = left < flags.minErrorCostUs ? 0 : whole(left * this.smooth)
      return true
    }
    this.emaErrorCostUs += cost
    // From left to right, as there: another order gives other last bits.
    const limit = average * this.windowSize * (this.errorPercent / 100) * (1 + flags.epsilonValue)
    return this.emaErrorCostUs <= whole(limit)
  }
}

/** As a double becomes an int64; 0 has one sign there. */
function whole(value: number): number {
  return Math.trunc(value) + 0
}
