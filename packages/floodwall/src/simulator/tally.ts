import { Histogram, type HistogramSnapshot } from '../algorithms/stats/histogram.ts'
import type { Reason } from '../core/gate.ts'
import type { Outcome } from '../core/outcome.ts'
import { Series } from './series.ts'

/** How operations ended: by the outcome of the last attempt. */
export interface OperationEnds {
  readonly success: number
  readonly failure: number
  readonly timeout: number
  /** The target said that it is too much. */
  readonly overload: number
  /** A gate of the pipeline said no. */
  readonly refused: number
  /** The patience of the last attempt was over. */
  readonly left: number
  /** No evidence of anything. */
  readonly ignored: number
}

/** What a population of clients lived through. */
export interface ClientsReport extends OperationEnds {
  readonly kind: 'clients'
  /** Operations begun: what people wanted. Each is in one of the ends, or pending. */
  readonly begun: number
  readonly pending: number
  /** Sent towards the target, refused ones included: retries of the clients' own are counted, those of a retry layer are not. */
  readonly attempts: number
  /** Successes a second. */
  readonly goodput: number
  /** Refusals among the last attempts, by reason. */
  readonly refusals: Readonly<Partial<Record<Reason, number>>>
  /** Of operations that succeeded, from their beginning, in milliseconds. */
  readonly latency: HistogramSnapshot
  /** By bucket, at the time of the beginning, the attempt, the end. */
  readonly series: {
    readonly begun: number[]
    readonly attempts: number[]
    readonly success: number[]
    readonly failed: number[]
  }
}

const ZERO: OperationEnds = {
  ...{ success: 0, failure: 0, timeout: 0, overload: 0 },
  ...{ refused: 0, left: 0, ignored: 0 },
}

/** Counts what a population lives through. */
export class Tally {
  private begun = 0
  private pending = 0
  private attempts = 0
  private ends: { -readonly [End in keyof OperationEnds]: number } = { ...ZERO }
  private refusals: Partial<Record<Reason, number>> = {}
  private readonly latency = new Histogram()
  private readonly begins: Series
  private readonly tries: Series
  private readonly successes: Series
  private readonly failures: Series
  private since = 0

  constructor(widthMs: number) {
    this.begins = new Series(widthMs)
    this.tries = new Series(widthMs)
    this.successes = new Series(widthMs)
    this.failures = new Series(widthMs)
  }

  begin(now: number): void {
    this.begun++
    this.pending++
    this.begins.add(now, 1)
  }

  attempt(now: number): void {
    this.attempts++
    this.tries.add(now, 1)
  }

  end(outcome: Outcome<unknown>, left: boolean, tookMs: number, now: number): void {
    this.pending--
    const { rejection, verdict } = outcome
    // Too late is none: he did not see it.
    if (verdict === 'success' && !left) {
      this.ends.success++
      this.latency.record(tookMs)
      this.successes.add(now, 1)
      return
    }
    this.failures.add(now, 1)
    if (left) this.ends.left++
    else if (rejection === undefined) this.ends[verdict]++
    else {
      this.ends.refused++
      this.refusals[rejection.reason] = (this.refusals[rejection.reason] ?? 0) + 1
    }
  }

  /** Counts begin anew; the series go on, and what is pending stays so. */
  forget(now: number): void {
    this.begun = this.pending
    this.attempts = 0
    this.ends = { ...ZERO }
    this.refusals = {}
    this.latency.clear()
    this.since = now
  }

  report(now: number): ClientsReport {
    return {
      kind: 'clients',
      begun: this.begun,
      pending: this.pending,
      attempts: this.attempts,
      ...this.ends,
      goodput: now > this.since ? (this.ends.success * 1000) / (now - this.since) : 0,
      refusals: { ...this.refusals },
      latency: this.latency.snapshot(),
      series: {
        begun: this.begins.upTo(now),
        attempts: this.tries.upTo(now),
        success: this.successes.upTo(now),
        failed: this.failures.upTo(now),
      },
    }
  }
}
