import { isSample } from '../stats/sample.ts'

// How long does this method normally take?
//
// Source: Apache brpc averages the successes of a whole endpoint; its issue #387 asks to divide by the normal latency of each method, since an
// endpoint that serves methods of 1 ms and of 500 ms has no normal latency of its own. So one moving average per method, of a bounded number.
// No count of samples beside it, for a mean of the first ones: a bad start is forgotten within some hundred calls, and until then a failure
// costs between 1 and `maxFailedLatencyMultiple` as ever.
//
// 2 ms, then 4 ms: 2 + 2 / 128 = 2.015625 ms.
//
// Invariant: between the smallest and the largest success; 0 while there was none that took time. brpc's average is cut to whole microseconds
// at every step and leans down by up to 40 %; this one does not lean.

/** Methods with an average of their own; the others share one. */
export const MOST_LANES = 64
const ALPHA = 1 / 128

export class NormalLatency {
  // A plain array that grows: most endpoints have one method.
  private readonly means: number[] = [0]

  learn(lane: number, tookMs: number): void {
    if (!isSample(tookMs)) return
    const { means } = this
    const i = slotOf(lane)
    while (i >= means.length) means.push(0)
    const mean = means[i]!
    means[i] = mean === 0 ? tookMs : mean + ALPHA * (tookMs - mean)
  }

  /** In milliseconds; 0 when nothing is known. */
  of(lane: number): number {
    const i = slotOf(lane)
    return i < this.means.length ? this.means[i]! : 0
  }
}

/** What is no small whole number is one of the others. */
function slotOf(lane: number): number {
  return lane >= 0 && lane < MOST_LANES ? Math.floor(lane) : MOST_LANES
}
