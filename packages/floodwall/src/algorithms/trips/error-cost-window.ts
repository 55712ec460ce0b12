import { decayPerCall, type ErrorCostSettings, type ErrorCostWindowSettings } from './error-cost-options.ts'

// Do the failures of this window cost more than their share?
//
// Source: the accumulator of Apache brpc (issue #387), which needs no queue: what is old has decayed. Three sums decay alike: what failures
// cost, how many they were, and the calls. brpc compares the first with a constant, window · rate, and so its 10 % opens between 17 and 89 %;
// here it is compared with the calls that have decayed with it, and 10 % is 10 %.
//
//   sum: a success decays the cost, a failure adds to it. A steady share r of failures keeps it at r / (1 - r) · calls.
//   ema: every call decays it. A steady share r keeps it at r · calls.
//
// Both decay by time too, to `epsilon` in `over`: an endpoint that is not asked forgets, and seldom calls never pile up.
//
// 200 calls, epsilon 0.02: a call keeps 0.98063, and 51.6 calls are in the sum. 30 %, sum: the limit is 0.3 / 0.7 · 1.02 · 51.6 = 22.6, so the
// 23rd failure of an outage opens. (1.02 is 1 + epsilon: a failure is freshest when it is judged, and of one in every 20 calls the peak is
// 2 % above the mean.)
//
// Invariant: finite, never negative; opens only on a failure, on at least `minEvidence` of them; after `over` without a call at most
// `epsilon` of anything is left.

/** So little of a failed call means nothing to anybody. */
const FORGOTTEN = 0.05
/** Below this the first terms of the exponential series are the exponential to the last bit or two, at a fifth of its price. */
const SMALL = 1 / 128

export class CostWindow {
  readonly maxErrorRate: number
  readonly minEvidence: number
  readonly overMs: number
  private readonly keep: number
  /** Of everything, this part decays in a millisecond. */
  private readonly perMs: number
  private readonly limit: number
  private readonly isSum: boolean
  private readonly minErrorCost: number
  private cost = 0
  private failures = 0
  private calls = 0
  private at = 0

  constructor(settings: ErrorCostWindowSettings, all: ErrorCostSettings) {
    const { lastCalls, over, maxErrorRate, minEvidence } = settings
    this.maxErrorRate = maxErrorRate
    this.minEvidence = minEvidence
    this.overMs = over
    this.keep = decayPerCall(all.epsilon, lastCalls)
    this.perMs = -Math.log(all.epsilon) / over
    this.isSum = all.accumulate === 'sum'
    this.limit = (this.isSum ? maxErrorRate / (1 - maxErrorRate) : maxErrorRate) * (1 + all.epsilon)
    this.minErrorCost = all.minErrorCost
  }

  /** True: over the limit still. A success takes no window over it. */
  success(now: number): boolean {
    this.age(now)
    this.calls = this.calls * this.keep + 1
    if (this.cost === 0) return false
    this.decay(this.keep)
    return this.exceeds()
  }

  /** True: open now. */
  failure(cost: number, now: number): boolean {
    this.age(now)
    this.calls = this.calls * this.keep + 1
    if (!this.isSum) {
      this.cost *= this.keep
      this.failures *= this.keep
    }
    this.cost += cost
    this.failures++
    return this.exceeds()
  }

  /** Many calls at once, the failures spread evenly among them. True: over the limit. */
  absorb(calls: number, failures: number, cost: number, now: number): boolean {
    this.age(now)
    const kept = power(this.keep, calls)
    this.calls = this.calls * kept + (1 - kept) / (1 - this.keep)
    // On average a failure is followed by half of what decays it.
    const steps = this.isSum ? calls - failures : calls
    if (this.cost > 0 && steps > 0) this.decay(power(this.keep, steps))
    const middle = power(this.keep, Math.floor(steps / 2))
    this.cost += cost * middle
    this.failures += failures * middle
    return this.exceeds()
  }

  reset(): void {
    this.cost = 0
    this.failures = 0
    this.calls = 0
  }

  /** The share of normal calls that failures cost. */
  get share(): number {
    if (this.cost === 0) return 0
    const perCall = this.cost / this.calls
    return this.isSum ? perCall / (1 + perCall) : perCall
  }

  /** Above 1 exactly when a failure would have opened. */
  nearness(now: number): number {
    if (this.cost === 0) return 0
    // Nothing is as near as a single failure that suffices.
    const evidence = this.minEvidence === 1 ? Infinity : (this.failures * this.left(now)) / (this.minEvidence - 1)
    return Math.min(this.cost / (this.limit * this.calls), evidence)
  }

  /** Failures and calls as they count now. */
  remembered(now: number): { readonly failures: number; readonly calls: number } {
    const left = this.left(now)
    return { failures: this.failures * left, calls: this.calls * left }
  }

  idle(now: number): boolean {
    const left = this.left(now)
    return this.calls * left < 1 && this.cost * left < FORGOTTEN
  }

  private exceeds(): boolean {
    // The n-th failure has lost a little of the first ones.
    return this.failures > this.minEvidence - 1 && this.cost > this.limit * this.calls
  }

  private decay(kept: number): void {
    const isNothing = this.cost < this.minErrorCost
    this.cost = isNothing ? 0 : this.cost * kept
    this.failures = isNothing ? 0 : this.failures * kept
  }

  private age(now: number): void {
    if (now === this.at) return
    const left = this.left(now)
    if (left < 1) {
      this.cost *= left
      this.failures *= left
      this.calls *= left
      this.at = now
    } else if (this.at - now > this.overMs && now > -Infinity) {
      // A clock that stepped far back: ageing would stand still until it is back where it was.
      this.at = now
    }
  }

  /** The part that is left at `now`; 1 when the clock went back, or when the reading is no time. */
  private left(now: number): number {
    const x = (now - this.at) * this.perMs
    if (x > 0 && x < SMALL) return 1 - x * (1 - x * (1 / 2 - x * (1 / 6 - x * (1 / 24 - x * (1 / 120)))))
    return x > 0 && now < Infinity ? Math.exp(-x) : 1
  }
}

/** By squaring: the same bits on every Node. */
function power(base: number, times: number): number {
  let result = 1
  let square = base
  for (let left = times; left > 0; left >>>= 1) {
    if (left & 1) result *= square
    square *= square
  }
  return result
}
