import type { Verdict } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { AnyTrip } from '../../src/algorithms/trips/any.ts'
import { Consecutive } from '../../src/algorithms/trips/consecutive.ts'
import { Hanging } from '../../src/algorithms/trips/hanging.ts'
import { Rates } from '../../src/algorithms/trips/rates.ts'
import { ResultsOfSpan } from '../../src/algorithms/trips/results.ts'
import type { Trip } from '../../src/algorithms/trips/trip.ts'
import { Watched } from '../../src/algorithms/trips/watched.ts'

/** Hears which lane it is told. */
class Ear extends Consecutive implements Trip {
  readonly lanes: (number | undefined)[] = []

  override record(verdict: Verdict, _tookMs?: number, _now?: number, lane?: number): boolean {
    this.lanes.push(lane)
    return super.record(verdict)
  }
}

function watched() {
  const hanging = new Hanging(80)
  const limits = { failureRate: undefined, errorCount: undefined, slowRate: 0.5, slowAfterMs: 80, atLeast: 4 }
  const rates = new Rates(new ResultsOfSpan(1000, 10), limits, hanging)
  const ear = new Ear(3)
  return { ear, trip: new Watched(new AnyTrip([ear, rates]), rates, hanging) }
}

describe('a trip that is told when calls begin', () => {
  test('the number of a permit: the eighth and the method, as in the worked example', () => {
    const { trip } = watched()
    // Eighths of 10 ms; the first reading finds its place, the later ones turn.
    expect(trip.begin(0, 5)).toBe(64 + 5)
    for (let at = 10; at <= 110; at += 10) trip.begin(at, 0)
    expect(trip.begin(120, 5)).toBe(837)
  })

  test('the trips inside hear the method and nothing else', () => {
    const { trip, ear } = watched()
    for (const lane of [0, 1, 63]) trip.record('success', 1, 0, trip.begin(0, lane))
    trip.record('success', 1, 0)
    expect(ear.lanes).toEqual([0, 1, 63, 0])
  })

  test('who ends is not late any more: by a result, or without one', () => {
    const { trip } = watched()
    const tags = [0, 1, 2, 3].map((lane) => trip.begin(0, lane))
    expect([trip.late(90), trip.hangs(90)]).toEqual([4, true])
    trip.drop(tags[0]!)
    expect(trip.late(90)).toBe(3)
    trip.record('success', 90, 90, tags[1]!)
    // Two hang, one is in the window: three calls, which is no verdict.
    expect([trip.late(90), trip.slowShare(90), trip.hangs(90)]).toEqual([2, 1, false])
  })

  test('a result that did not begin here ends nobody', () => {
    const { trip } = watched()
    trip.begin(0, 0)
    trip.record('success', 1, 90)
    trip.record('success', 1, 90, 63)
    trip.drop(0)
    expect(trip.late(90)).toBe(1)
  })

  test('any of its conditions opens it, and the nearest speaks', () => {
    const { trip } = watched()
    expect([1, 2, 3].map(() => trip.record('failure', 1, 0, trip.begin(0, 0)))).toEqual([false, false, true])
    expect([trip.value(0), trip.limit(0), trip.nearness(0)]).toEqual([3, 3, 1])
    expect(trip.explain(0)).toBe('3 calls failed in a row (limit 3)')
    expect(trip.idle(0)).toBe(false)
    trip.begin(0, 0)
    trip.reset(0)
    expect([trip.idle(0), trip.late(500), trip.nearness(500)]).toEqual([true, 0, 0])
  })
})
