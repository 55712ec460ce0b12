// What is the threshold in force while a resource warms up, as Sentinel would say?
//
// Source: the warm-up of alibaba/sentinel-golang (commit f7a7f957). Stored tokens are coldness: full is cold. Once a second some are stored, if
// little passed in the last one, and what passed is taken out.
//
// 30/s, 5 s, factor 3: 150 stored are cold, 10/s; at 75 it is warm, 30/s.
//
// Invariant: the numbers of Sentinel. Where the cold threshold is below one call nothing passes, and it is cold for ever; our own warm-up
// lets one pass then.

export class SentinelWarmUp {
  /** Sentinel's own numbers. */
  readonly warningToken: number
  readonly maxToken: number
  readonly slope: number
  stored = 0
  private readonly threshold: number
  private readonly coldBelow: number
  private filledAt = 0

  constructor(threshold: number, periodSec: number, factor: number) {
    const coldFactor = factor <= 1 ? 3 : factor
    this.threshold = threshold
    this.warningToken = Math.trunc((periodSec * threshold) / (coldFactor - 1))
    this.maxToken = this.warningToken + Math.trunc((2 * periodSec * threshold) / (1 + coldFactor))
    this.slope = (coldFactor - 1) / threshold / (this.maxToken - this.warningToken)
    this.coldBelow = Math.trunc(Math.trunc(threshold) / coldFactor)
  }

  /** The threshold at `now`, after `previous` passes a second in the last window. */
  allowed(previous: number, now: number): number {
    this.sync(previous, now - (now % 1000))
    const above = this.stored - this.warningToken
    return above < 0 ? this.threshold : nextUp(1 / (above * this.slope + 1 / this.threshold))
  }

  private sync(previous: number, second: number): void {
    if (second <= this.filledAt) return
    const cools = this.stored < this.warningToken || (this.stored > this.warningToken && previous < this.coldBelow)
    const stored = cools ? Math.trunc(this.stored + ((second - this.filledAt) * this.threshold) / 1000) : this.stored
    this.stored = Math.max(0, Math.min(stored, this.maxToken) - Math.trunc(previous))
    this.filledAt = second
  }
}

const cell = new DataView(new ArrayBuffer(8))

/** The next double above a positive one. */
function nextUp(x: number): number {
  if (!Number.isFinite(x)) return x
  cell.setFloat64(0, x)
  cell.setBigUint64(0, cell.getBigUint64(0) + 1n)
  return cell.getFloat64(0)
}
