import type { Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import { Baseline } from './baseline.ts'
import { type Bounds, Estimate } from './estimate.ts'
import type { Estimator } from './estimator.ts'
import { Round } from './round.ts'

// How many at once, if a few may wait?
//
// Source: TCP Vegas (Brakmo and Peterson, 1994) in the form of Netflix's VegasLimit: the calls that queue are limit · (1 - baseline / latency);
// below alpha the limit grows, above beta it shrinks, between them it rests. alpha is three times, beta six times the whole decimal logarithm.
// There the limit falls by one such step, and needs a hundred rounds from 200 to 10; here what waits above beta goes at once.
//
// limit 40, baseline 20 ms, latency 25 ms: 8 of 40 wait. beta is 6: 38. Then 6 of 38 wait, and it rests.
//
// Invariant: min <= limit <= max; it grows only while at least half of it, and more than one call, is in use.

/** A round takes away a quarter at most: its latency is of calls that began before. */
const STEEPEST = 0.75

export class Vegas implements Estimator {
  readonly kind = 'vegas'
  private readonly round = new Round()
  private readonly baseline = new Baseline()
  private readonly estimate: Estimate

  constructor(bounds: Bounds) {
    this.estimate = new Estimate(bounds)
  }

  get limit(): number {
    return this.estimate.limit
  }

  sample(tookMs: number, inFlight: number, verdict: Verdict, now: number): void {
    if (this.round.add(tookMs, inFlight, verdict, this.estimate.limit, now)) this.learn()
  }

  private learn(): void {
    const { round, baseline, estimate } = this
    const { value } = estimate
    const loaded = round.peak > 1 && round.peak * 2 >= value
    const eased =
      round.meanMs > 0 && baseline.learn(round.meanMs, round.calls, estimate.limit, round.inFlight * 2 > value)
    if (round.dropped > 0) return estimate.cut(round.dropped, round.peak)
    if (!loaded || eased) return
    const queue = Math.max(0, value * (1 - baseline.valueMs / round.meanMs))
    const step = logarithm(value)
    if (queue > 3 * step) estimate.found()
    if (estimate.slowStart) return estimate.double()
    if (queue <= step) estimate.move(value + 6 * step)
    else if (queue < 3 * step) estimate.move(value + step)
    else if (queue > 6 * step) estimate.move(Math.max(value * STEEPEST, value - queue + 6 * step))
  }

  reconfigure(bounds: Bounds): void {
    this.estimate.reconfigure(bounds)
  }

  inspect(): Snapshot {
    const { kind, round, baseline, estimate } = this
    return {
      kind,
      limit: estimate.limit,
      baselineMs: baseline.valueMs,
      latencyMs: baseline.latencyMs,
      raised: baseline.raised,
      slowStart: estimate.slowStart,
      rounds: round.ended,
    }
  }
}

/** The whole decimal logarithm, at least 1. */
function logarithm(value: number): number {
  let log = 0
  for (let power = 10; power <= value; power *= 10) log++
  return log === 0 ? 1 : log
}
