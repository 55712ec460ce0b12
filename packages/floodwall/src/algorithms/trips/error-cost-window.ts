import { decayPerCall, type ErrorCostSettings, type ErrorCostWindowSettings } from './error-cost-options.ts'

// Do the failures of this window cost more than their share?
//
// Source: the accumulator of Apache brpc (issue #387), which needs no queue: what is old has decayed. Three sums decay alike: what failures
// cost, what successes cost (1 each), and how many failures there were. brpc compares the first with a constant, window · rate, and so its
// 10 % opens anywhere between 17 and 89 %; here the two costs have decayed together, so their ratio is the ratio of the calls, and 10 % is 10 %
// from the first call on.
//
//   sum: a success decays, a failure only adds: the more calls fail, the slower the past fades.
//   ema: every call decays.
//
// All decay by time too, to `epsilon` in `over`: an endpoint that is not asked forgets, and seldom calls never pile up.
//
// 200 calls, epsilon 0.02: a call keeps 0.98063, so after many successes they are worth 1 / (1 - 0.98063) = 51.6. 30 %, sum: failures may cost
// 0.3 / 0.7 · 1.02 · 51.6 = 22.6, so the 23rd of an outage opens. (1.02 is 1 + epsilon: a failure is freshest when it is judged, and of one in
// every 20 calls the peak is up to 2 % above the mean.)
//
// Invariant: finite, never negative; a success takes nothing over the limit, nor do fewer than `minEvidence` failures; after `over` without a
// call at most `epsilon` of anything is left.

/** So little of a call means nothing to anybody. */
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
  /** What failures may cost per success. */
  private readonly limit: number
  private readonly isSum: boolean
  private readonly minErrorCost: number
  private cost = 0
  private failures = 0
  private successes = 0
  private at = 0

  constructor(settings: ErrorCostWindowSettings, all: ErrorCostSettings) {
    const { lastCalls, over, maxErrorRate, minEvidence } = settings
    this.maxErrorRate = maxErrorRate
    this.minEvidence = minEvidence
    this.overMs = over
    this.keep = decayPerCall(all.epsilon, lastCalls)
    this.perMs = -Math.log(all.epsilon) / over
    this.limit = (maxErrorRate / (1 - maxErrorRate)) * (1 + all.epsilon)
    this.isSum = all.accumulate === 'sum'
    this.minErrorCost = all.minErrorCost
  }

  /** True: over the limit still. */
  success(now: number): boolean {
    this.age(now)
    this.successes = this.successes * this.keep + 1
    if (this.cost === 0) return false
    this.fade(this.keep, true)
    return this.exceeds()
  }

  /** True: over the limit. */
  failure(cost: number, now: number): boolean {
    this.age(now)
    if (!this.isSum) {
      this.successes *= this.keep
      this.cost *= this.keep
      this.failures *= this.keep
    }
    this.cost += cost
    this.failures++
    return this.exceeds()
  }

  /** Many calls at once, as if the failures were spread evenly among them. True: over the limit. */
  absorb(successes: number, failures: number, cost: number, now: number): boolean {
    this.age(now)
    const steps = this.isSum ? successes : successes + failures
    const kept = power(this.keep, steps)
    // What a call that came somewhere among them is worth at their end.
    const worth = steps === 0 ? 1 : (1 - kept) / (1 - this.keep) / steps
    if (steps > 0 && this.cost > 0) this.fade(kept, successes > 0)
    this.successes = this.successes * kept + successes * worth
    this.cost += cost * worth
    this.failures += failures * worth
    return this.exceeds()
  }

  reset(): void {
    this.cost = 0
    this.failures = 0
    this.successes = 0
  }

  /** What failures cost, of all that calls cost. */
  get share(): number {
    return this.cost === 0 ? 0 : this.cost / (this.cost + this.successes)
  }

  /** Above 1 exactly when it is over the limit. */
  nearness(now: number): number {
    if (this.cost === 0) return 0
    // No success: any cost is over the limit. One failure asked for: there it is.
    const cost = this.successes === 0 ? Infinity : this.cost / (this.limit * this.successes)
    const evidence = this.minEvidence === 1 ? Infinity : (this.failures * this.left(now)) / (this.minEvidence - 1)
    return Math.min(cost, evidence, Number.MAX_VALUE)
  }

  /** What is remembered at `now`, in calls and in normal calls. */
  remembered(now: number): { readonly failures: number; readonly cost: number; readonly calls: number } {
    const left = this.left(now)
    return { failures: this.failures * left, cost: this.cost * left, calls: (this.cost + this.successes) * left }
  }

  idle(now: number): boolean {
    const left = this.left(now)
    return this.successes * left < 1 && this.cost * left < FORGOTTEN
  }

  private exceeds(): boolean {
    // Minus 1: when the n-th failure comes, the first ones have faded a little.
    return this.failures > this.minEvidence - 1 && this.cost > this.limit * this.successes
  }

  /** What is next to nothing is forgotten by a success, never by a failure. */
  private fade(kept: number, forgets: boolean): void {
    const isNothing = forgets && this.cost < this.minErrorCost
    this.cost = isNothing ? 0 : this.cost * kept
    this.failures = isNothing ? 0 : this.failures * kept
  }

  private age(now: number): void {
    if (now === this.at) return
    const left = this.left(now)
    if (left < 1) {
      this.cost *= left
      this.failures *= left
      this.successes *= left
      this.at = now
    } else if (this.at - now > this.overMs && now > -Infinity) {
      // A clock that stepped far back: ageing would stand still until it is where it was.
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
