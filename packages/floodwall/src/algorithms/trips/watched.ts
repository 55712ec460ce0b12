import type { Verdict } from '../../core/outcome.ts'
import type { Hanging } from './hanging.ts'
import type { Memory } from './memory.ts'
import type { Rates } from './rates.ts'
import type { Trip } from './trip.ts'

// Who has begun, and not ended?
//
// A trip that hears of calls when they begin, so that those that hang can be counted. A permit has room for one number: 24 bits say in which
// eighth of the slow limit the call began (see hanging.ts), 6 bits which method it is (see lanes.ts). 0 is nobody who has begun.
//
// Lane 5, begun in eighth 12: (12 + 1) · 64 + 5 = 837.
//
// Invariant: each call that began ends here once, through `record` or `drop`.

const LANE_BITS = 6
const LANES = 1 << LANE_BITS

export class Watched implements Trip {
  private readonly trip: Trip
  private readonly rates: Rates
  private readonly hanging: Hanging

  /** `rates` is the part of `trip` that judges those who hang. */
  constructor(trip: Trip, rates: Rates, hanging: Hanging) {
    this.trip = trip
    this.rates = rates
    this.hanging = hanging
  }

  /** A call begins: the number that its permit carries. */
  begin(now: number, lane: number): number {
    return (this.hanging.begin(now) + 1) * LANES + lane
  }

  /** It has ended, and says nothing. */
  drop(tag: number): void {
    if (tag >= LANES) this.hanging.end((tag >> LANE_BITS) - 1)
  }

  /** Those who have begun are not waited for any more. */
  forgetBegun(): void {
    this.hanging.clear()
  }

  /** So many calls hang that it opens. */
  hangs(now: number): boolean {
    return this.rates.hangs(now)
  }

  late(now: number): number {
    return this.rates.late(now)
  }

  slowShare(now: number): number {
    return this.rates.slowShare(now)
  }

  record(verdict: Verdict, tookMs: number, now: number, tag = 0): boolean {
    this.drop(tag)
    return this.trip.record(verdict, tookMs, now, tag & (LANES - 1))
  }

  reset(now: number): void {
    this.trip.reset(now)
  }

  value(now: number): number {
    return this.trip.value(now)
  }

  limit(now: number): number {
    return this.trip.limit(now)
  }

  nearness(now: number): number {
    return this.trip.nearness(now)
  }

  explain(now: number): string {
    return this.trip.explain(now)
  }

  idle(now: number): boolean {
    return this.trip.idle(now)
  }

  remember(now: number): Memory {
    return this.trip.remember?.(now) ?? {}
  }

  recall(memory: Memory, ageMs: number, now: number): void {
    this.trip.recall?.(memory, ageMs, now)
  }
}
