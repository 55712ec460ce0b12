import type { Refuser, Rejection } from '../../core/gate.ts'
import { LeapArray } from './leap-array.ts'
import { EPSILON, type SentinelRuleValues } from './rule.ts'

// May this call pass, as this one rule of Sentinel would say?
//
// A replica of the circuit breaker of alibaba/sentinel-golang (commit f7a7f957), for those who tuned their rules there. Open until
// `nextRetryMs`; the call that finds that over makes it half-open, and what ends next decides, whoever began it.
//
// ErrorRatio 0.5, minRequestAmount 10, retryTimeoutMs 5000: the tenth end of the window opens it when five of the ten were errors, be that
// end a good one. 5 s later one call passes; good: closed, with an empty window; bad: 5 s more.
//
// Invariant: given the same calls at the same milliseconds, every answer, state and number is Sentinel's. With its faults: a threshold of 0
// opens without one; a probe that never ends keeps it half-open for ever (probeNum 0) or lets everybody pass (above 0); ends from before
// the opening decide. None of them is in our own `Breaker`.

export type SentinelState = 'closed' | 'open' | 'halfOpen'

/** What becomes of a call that asks. `probe`: it passes, and has made the breaker half-open. */
export type SentinelAnswer = 'pass' | 'probe' | 'refuse'

/** Hears of each change of state, when it is whole. */
type OnChange = (breaker: SentinelBreaker, from: SentinelState, now: number) => void

export class SentinelBreaker implements Refuser {
  readonly kind = 'sentinel'
  readonly path: string
  readonly rule: SentinelRuleValues
  readonly window: LeapArray
  /** A call may try when the clock shows this. */
  nextRetryMs = 0
  goodProbes = 0
  /** What opened it: a share, a number of errors; 1 from half-open. */
  openedBy = 0
  private at: SentinelState = 'closed'
  private readonly onChange: OnChange

  /** @param window that of another breaker with the same statistics, or a new one */
  constructor(rule: SentinelRuleValues, path: string, onChange: OnChange, now: number, window?: LeapArray) {
    this.rule = rule
    this.path = path
    this.onChange = onChange
    this.window = window ?? new LeapArray(rule.statIntervalMs, rule.statSlidingWindowBucketCount, now)
  }

  get state(): SentinelState {
    return this.at
  }

  /** `now` in whole milliseconds, as everywhere here. */
  tryPass(now: number): SentinelAnswer {
    if (this.at === 'closed') return 'pass'
    if (this.at === 'halfOpen') return this.rule.probeNum > 0 ? 'pass' : 'refuse'
    if (now < this.nextRetryMs) return 'refuse'
    this.enter('halfOpen', now)
    return 'probe'
  }

  /** A call ended after `rtMs`, with an error or without. */
  complete(rtMs: number, failed: boolean, now: number): void {
    const isBad = this.rule.strategy === 'SlowRequestRatio' ? rtMs > this.rule.maxAllowedRtMs : failed
    // The clock went back into a bucket that is taken: the call is lost, and with it what it would have decided.
    if (!this.window.add(isBad, now)) return
    if (this.at === 'halfOpen') this.judgeProbe(isBad, now)
    else if (this.at === 'closed') this.judge(now)
  }

  /** The call that made it half-open was refused by another rule: as if nobody had asked, but that everybody is told. */
  rollBack(now: number): void {
    if (this.at !== 'halfOpen') return
    this.openedBy = 1
    this.enter('open', now)
  }

  private judgeProbe(isBad: boolean, now: number): void {
    if (isBad) {
      this.goodProbes = 0
      return this.open(1, now)
    }
    this.goodProbes++
    const { probeNum } = this.rule
    if (probeNum > 0 && this.goodProbes < probeNum) return
    this.goodProbes = 0
    this.enter('closed', now)
    this.window.clear(now)
  }

  private judge(now: number): void {
    const { total, bad } = this.window
    const { strategy, minRequestAmount, threshold } = this.rule
    if (total < minRequestAmount) return
    if (strategy === 'ErrorCount') {
      if (bad >= Math.trunc(threshold)) this.open(bad, now)
      return
    }
    // No calls at all, after a clock that went back: not a number, and no reason to open.
    const share = bad / total
    if (share > threshold || Math.abs(share - threshold) < EPSILON) this.open(share, now)
  }

  private open(by: number, now: number): void {
    this.openedBy = by
    this.nextRetryMs = now + this.rule.retryTimeoutMs
    this.enter('open', now)
  }

  private enter(to: SentinelState, now: number): void {
    const from = this.at
    this.at = to
    this.onChange(this, from, now)
  }

  explain(rejection: Rejection): string {
    return rejection.reason === 'probing' ? 'half-open, and its probe has not ended' : `open: ${this.why}`
  }

  /** Why it is open, in words. */
  get why(): string {
    const { strategy, threshold } = this.rule
    const what = strategy === 'SlowRequestRatio' ? 'slow calls' : 'errors'
    return `${what}: ${this.openedBy}, threshold ${threshold} (${strategy})`
  }
}
