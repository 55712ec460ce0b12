import type { Verdict } from '../../core/outcome.ts'
import { AnswerTimes } from './answer-times.ts'

// How long is the first attempt waited for, before a second one is sent beside it?
//
// Source: Dean and Barroso, "The Tail at Scale" (2013): a second request after the 95th percentile of the expected latency costs 5 % more load
// and cuts the tail, whatever makes it. The percentile is that of first attempts: later ones go elsewhere, and at bad moments.
//
// 'p95' of 1,000 answers between 10 and 20 ms, evenly: 19.5 ms, and 50 of the 1,000 would be sent twice.
//
// Invariant: unknown (Infinity) until an answer beyond the percentile can be expected among those seen; until then nothing is sent twice for
// being late.

/** When a second attempt is sent. Users may bring one of their own. */
export interface HedgeDelay {
  /** A first attempt has ended so, after so long; `ignored` for one that was overtaken. */
  record(verdict: Verdict, tookMs: number, now: number): void
  /** Milliseconds from the start of an attempt; Infinity: not by time. */
  ms(now: number): number
}

/** 95 of 'p95', as a share; NaN when it is no percentile from p1 to p99.9. */
export function shareOf(percentile: string): number {
  const [, digits] = /^p(\d{1,2}(?:\.\d)?)$/.exec(percentile) ?? []
  const share = Number(digits) / 100
  return share >= 0.01 ? share : Number.NaN
}

/** Always the same. */
export class FixedDelay implements HedgeDelay {
  private readonly spanMs: number

  constructor(spanMs: number) {
    this.spanMs = spanMs
  }

  record(): void {}

  ms(): number {
    return this.spanMs
  }
}

/** However low the percentile: fewer answers than this say nothing. */
const FEWEST = 10
/** Computed anew when so much of what it rests on is new: a percentile looks at all buckets. */
const NEWS = 1 / 32

/** A percentile of the answers of the last `overMs`. */
export class PercentileDelay implements HedgeDelay {
  private readonly share: number
  private readonly fewest: number
  private readonly times: AnswerTimes
  private knownMs = Number.POSITIVE_INFINITY
  private nextAt = 0

  constructor(share: number, overMs: number) {
    this.share = share
    this.fewest = Math.max(FEWEST, Math.ceil(1 / (1 - share) - 1e-9))
    this.times = new AnswerTimes(overMs)
  }

  record(verdict: Verdict, tookMs: number, now: number): void {
    if (verdict === 'success') this.times.answered(tookMs, now)
    else this.times.leftOff(tookMs, now)
  }

  ms(now: number): number {
    const { times } = this
    const size = times.size(now)
    if (size < this.fewest) return Number.POSITIVE_INFINITY
    if (times.changes >= this.nextAt) {
      this.nextAt = times.changes + Math.max(1, Math.floor(size * NEWS))
      this.knownMs = times.percentile(this.share, now) as number
    }
    return this.knownMs
  }
}
