import type { Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import { Baseline } from './baseline.ts'
import { type Bounds, Estimate } from './estimate.ts'
import type { Estimator } from './estimator.ts'
import { Round } from './round.ts'

// How many at once, if a queue of the square root of them is as much as we want?
//
// Source: Gradient2Limit of Netflix's concurrency-limits, and FAST TCP (Wei, Jin, Low, Hegde, 2006), whose window goes to
// limit · baseline / latency + queue. What is different there, and why: see compat/netflix, which replays it. Here the baseline does not
// follow a standing queue, drops count, and a round counts once.
//
// limit 38, baseline 20 ms, latency 24 ms: 38 · 20 / 24 + 6.2 = 37.8. It stays: 32 workers are busy and 6 calls wait.
//
// Invariant: min <= limit <= max; it grows only while at least half of it, and more than one call, is in use.

/** Share of the new value, once a round. A round is two round trips, so that what it measured is of the present limit. Source: FAST TCP. */
const SMOOTHING = 0.5
/** A round does not ask for less than half. Source: Gradient2Limit. */
const STEEPEST = 0.5

export class Gradient2 implements Estimator {
  readonly kind = 'gradient2'
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
    const gradient = Math.min(1, baseline.valueMs / round.meanMs)
    const queue = Math.sqrt(value)
    if (value * (1 - gradient) > queue) estimate.found()
    if (estimate.slowStart) estimate.double()
    else estimate.move(value + (value * Math.max(STEEPEST, gradient) + queue - value) * SMOOTHING)
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
