import type { Criticality } from '../../core/init.ts'
import { GRAIN, type Pace, unitOf } from '../rates/rate.ts'

// What may one key take?
//
// The numbers of a GCRA (rates/gcra.ts) apart from its state, which is one number for each key. Of the burst a part can be kept for higher classes:
// a class may use what is not kept for those above it, so that a batch cannot use up what the same user's clicks will need.
//
// 10/s, burst 10, reserve { critical: 0.2 }: `sheddable` and `sheddablePlus` may be 800 ms ahead of the clock, the others 1 s.
//
// Invariant: a higher class may be ahead at least as far as a lower one.

/** Shares of the burst that are kept for a class and those above it. */
type Reserve = Readonly<Partial<Record<Exclude<Criticality, 'sheddable'>, number | undefined>>>

export class KeyLimit {
  readonly pace: Pace
  readonly burst: number
  /** Rate 0: a burst, and then nothing. The clock stands still for it. */
  readonly frozen: boolean
  /** Milliseconds that a unit is worth. */
  readonly unitMs: number
  /** How far ahead of the clock a key may be, and each class of its calls. */
  readonly aheadMs: number
  readonly aheadOf: Readonly<Record<Criticality, number>>
  readonly grainMs: number
  /** That of one key, by its name. */
  readonly single: boolean

  constructor(pace: Pace, burst: number, reserve: Reserve = {}, single = false) {
    const unitMs = unitOf(pace)
    this.pace = pace
    this.burst = burst
    this.frozen = unitMs === Number.POSITIVE_INFINITY
    this.unitMs = this.frozen ? 1 : unitMs
    this.aheadMs = burst * this.unitMs
    this.single = single
    this.grainMs = GRAIN * this.unitMs
    const { criticalPlus = 0, critical = 0, sheddablePlus = 0 } = reserve
    const ahead = (kept: number) => this.usable(kept) * this.unitMs
    this.aheadOf = {
      criticalPlus: this.aheadMs,
      critical: ahead(criticalPlus),
      sheddablePlus: ahead(criticalPlus + critical),
      sheddable: ahead(criticalPlus + critical + sheddablePlus),
    }
  }

  /** A part of a call is none: who may use anything may use one unit of a burst that has one. */
  private usable(kept: number): number {
    if (kept === 0) return this.burst
    const share = 1 - kept
    return share <= GRAIN ? 0 : Math.max(Math.min(1, this.burst), share * this.burst)
  }

  get perSecond(): number {
    return (this.pace.rate / this.pace.per) * 1000
  }
}
