import type { Snapshot } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Bounds, Estimate } from './estimate.ts'
import type { Estimator } from './estimator.ts'
import { Round } from './round.ts'

// How many at once, if nothing is known but that some came back too late?
//
// Source: additive increase, multiplicative decrease (Chiu and Jain, 1989; TCP). A round without a drop adds 1, one with drops takes their
// share, 30 % at most. It finds the limit at which drops begin, again and again: put a timeout further in, or `slowAfter`, or there are none.
//
// limit 20, ten calls time out together: 14. Netflix's AIMDLimit counts ten drops, and is at 5.
//
// Invariant: min <= limit <= max; it grows only while at least half of it, and more than one call, is in use.

export class Aimd implements Estimator {
  readonly kind = 'aimd'
  private readonly round = new Round()
  private readonly estimate: Estimate

  constructor(bounds: Bounds) {
    this.estimate = new Estimate(bounds)
    // Latency never says stop here: doubling would go on to the first drop.
    this.estimate.found()
  }

  get limit(): number {
    return this.estimate.limit
  }

  sample(tookMs: number, inFlight: number, verdict: Verdict, now: number): void {
    if (this.round.add(tookMs, inFlight, verdict, this.estimate.limit, now)) this.learn()
  }

  private learn(): void {
    const { round, estimate } = this
    const { value } = estimate
    if (round.dropped > 0) estimate.cut(round.dropped, round.peak)
    else if (round.peak <= 1 || round.peak * 2 < value) return
    else if (estimate.slowStart) estimate.double()
    else estimate.move(value + 1)
  }

  reconfigure(bounds: Bounds): void {
    this.estimate.reconfigure(bounds)
  }

  inspect(): Snapshot {
    const { kind, round, estimate } = this
    return { kind, limit: estimate.limit, slowStart: estimate.slowStart, rounds: round.ended }
  }
}
