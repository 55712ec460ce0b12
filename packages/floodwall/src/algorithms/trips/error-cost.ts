import type { Verdict } from '../../core/outcome.ts'
import { parse } from '../../core/schema.ts'
import { isSample } from '../stats/sample.ts'
import { type ErrorCostOptions, errorCostOptions } from './error-cost-options.ts'
import { CostWindow } from './error-cost-window.ts'
import { NormalLatency } from './normal-latency.ts'
import { SecondStage } from './second-stage.ts'
import type { Trip } from './trip.ts'

// Do failures cost more than what they are failures of?
//
// Source: the circuit breaker of Apache brpc (issue #387): no error codes to rank and no rates to guess, an error costs the time that was
// spent on it. Here in normal calls of its own method: a failure costs took / normal latency, at least 1 and at most 2. At least 1, since
// a server that refuses within 0.1 ms is as useless as one that stalls, and draws more traffic; at most 2, since one stuck call is no
// outage. Two windows look at once, a short one with a high limit and a long one with a low one; either opens.
//
// Defaults, 100 calls/s, fault after good times: all calls fail: opens at the 22nd. Half of them: after some 50. 20 %, or 10 % that time out:
// after some 1000, by the long window. 10 %: never.
//
// Why 30 and 15 %: brpc's 10 and 5 % come to 28.5 and 16.6 % for failures of normal cost, once its first window is over; these limits have
// been in production for years. Why 7 and 30 failures: with fewer, 10 % of failures or 5 % of timeouts open by chance in the first hundred
// calls, or within the hour at a few calls per second; with 7, an outage at 1 call/s still opens at the 8th. Calls that come more seldom than
// every 2.8 s never pile up to 7: that is what `Consecutive` is for.
//
// Invariant: O(1) memory and time, whatever the windows. A success opens nothing that the failures before it had not opened.

/** Sums stay finite with `maxFailedLatencyMultiple: Infinity`, too. */
const LARGEST_MULTIPLE = 1_000_000

export class ErrorCost implements Trip {
  private readonly short: CostWindow
  private readonly long: CostWindow
  private readonly stage: SecondStage | undefined
  private readonly normal = new NormalLatency()
  private readonly most: number

  constructor(options: ErrorCostOptions = {}) {
    const settings = parse(errorCostOptions, options, 'errorCost')
    this.short = new CostWindow(settings.short, settings)
    this.long = new CostWindow(settings.long, settings)
    this.stage = settings.secondStage ? new SecondStage(this.long) : undefined
    this.most = Math.min(settings.maxFailedLatencyMultiple, LARGEST_MULTIPLE)
  }

  record(verdict: Verdict, tookMs: number, now: number, lane = 0): boolean {
    if (verdict === 'success') {
      this.normal.learn(lane, tookMs)
      const isShortOver = this.short.success(now)
      const isLongOver = this.stage === undefined ? this.long.success(now) : this.stage.add(0, now)
      return isShortOver || isLongOver
    }
    const cost = this.costOf(tookMs, lane)
    const isShortOver = this.short.failure(cost, now)
    const isLongOver = this.stage === undefined ? this.long.failure(cost, now) : this.stage.add(cost, now)
    return isShortOver || isLongOver
  }

  /** Of a failed call, in normal calls of its method. */
  private costOf(tookMs: number, lane: number): number {
    const normal = this.normal.of(lane)
    if (normal === 0 || !isSample(tookMs)) return 1
    return Math.min(Math.max(tookMs / normal, 1), this.most)
  }

  /** The normal latencies stay: they are what the next failures are measured by, and 128 successes renew them. */
  reset(): void {
    this.short.reset()
    this.long.reset()
    this.stage?.reset()
  }

  /** What successes of this method take on average; 0: not known. */
  normalLatencyMs(lane = 0): number {
    return this.normal.of(lane)
  }

  /** The window that is nearer to its limit speaks for both. */
  private nearest(now: number): CostWindow {
    return this.long.nearness(now) > this.short.nearness(now) ? this.long : this.short
  }

  value(now: number): number {
    return this.nearest(now).share
  }

  limit(now: number): number {
    return this.nearest(now).maxErrorRate
  }

  nearness(now: number): number {
    return this.nearest(now).nearness(now)
  }

  explain(now: number): string {
    const window = this.nearest(now)
    const { share, maxErrorRate, minEvidence } = window
    const { failures, cost, calls } = window.remembered(now)
    const few = failures > minEvidence - 1 ? '' : `; ${tenths(failures)} failures of at least ${minEvidence}`
    const shares = `${tenths(share * 100)} %, limit ${tenths(maxErrorRate * 100)} %`
    const name = window === this.long ? 'long' : 'short'
    return `failures cost ${tenths(cost)} normal calls of the last ${tenths(calls)} in the ${name} window (${shares}${few})`
  }

  idle(now: number): boolean {
    return this.short.idle(now) && this.long.idle(now) && (this.stage === undefined || this.stage.idle(now))
  }
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10
}
