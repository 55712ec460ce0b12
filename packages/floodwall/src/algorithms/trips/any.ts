import type { Verdict } from '../../core/outcome.ts'
import type { Memory } from './memory.ts'
import type { Trip } from './trip.ts'

// Does any of several conditions hold?
//
// Each sees every result, so that none starts from nothing when another has opened the breaker.
//
// Invariant: opens if and only if one of its trips does.

export class AnyTrip implements Trip {
  private readonly trips: readonly Trip[]

  constructor(trips: readonly Trip[]) {
    this.trips = trips
  }

  record(verdict: Verdict, tookMs: number, now: number, lane?: number): boolean {
    let open = false
    for (const trip of this.trips) if (trip.record(verdict, tookMs, now, lane)) open = true
    return open
  }

  reset(now: number): void {
    for (const trip of this.trips) trip.reset(now)
  }

  /** The one nearest to its limit speaks for all. */
  private nearest(now: number): Trip {
    return this.trips.reduce((a, b) => (b.nearness(now) > a.nearness(now) ? b : a))
  }

  value(now: number): number {
    return this.nearest(now).value(now)
  }

  limit(now: number): number {
    return this.nearest(now).limit(now)
  }

  nearness(now: number): number {
    return this.nearest(now).nearness(now)
  }

  /** All that would open; if none would, the nearest. One that is judged at slow calls only can be further over its limit than the one that opened. */
  explain(now: number): string {
    const met = this.trips.filter((trip) => trip.nearness(now) >= 1)
    return (met.length > 0 ? met : [this.nearest(now)]).map((trip) => trip.explain(now)).join(' and ')
  }

  idle(now: number): boolean {
    return this.trips.every((trip) => trip.idle(now))
  }

  /** Each remembers something else: one has a window, another a run. */
  remember(now: number): Memory {
    return this.trips.reduce<Memory>((all, trip) => ({ ...all, ...trip.remember?.(now) }), {})
  }

  recall(memory: Memory, ageMs: number, now: number): void {
    for (const trip of this.trips) trip.recall?.(memory, ageMs, now)
  }
}
