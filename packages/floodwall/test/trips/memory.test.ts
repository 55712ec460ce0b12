import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CountRing } from '../../src/algorithms/stats/count-ring.ts'
import { TimeRing } from '../../src/algorithms/stats/time-ring.ts'
import { AnyTrip } from '../../src/algorithms/trips/any.ts'
import { Consecutive } from '../../src/algorithms/trips/consecutive.ts'
import { FailureRate, FailureRateOfCalls } from '../../src/algorithms/trips/failure-rate.ts'
import { Hanging } from '../../src/algorithms/trips/hanging.ts'
import { type Memory, memorySchema } from '../../src/algorithms/trips/memory.ts'
import { Rates } from '../../src/algorithms/trips/rates.ts'
import { ResultsOfCalls, ResultsOfSpan } from '../../src/algorithms/trips/results.ts'
import type { Trip } from '../../src/algorithms/trips/trip.ts'
import { Watched } from '../../src/algorithms/trips/watched.ts'
import { parse } from '../../src/core/schema.ts'

const LIMITS = { failureRate: 0.5, errorCount: undefined, slowRate: 0.5, slowAfterMs: 100, atLeast: 3 }

function watched(): Trip {
  const hanging = new Hanging(100)
  const rates = new Rates(new ResultsOfSpan(1000, 10), LIMITS, hanging)
  return new Watched(new AnyTrip([rates, new Consecutive(5)]), rates, hanging)
}

const MAKES: Readonly<Record<string, () => Trip>> = {
  FailureRate: () => new FailureRate(0.5, 3, 1000, 10),
  FailureRateOfCalls: () => new FailureRateOfCalls(0.5, 3, 8),
  'Rates over a span': () => new Rates(new ResultsOfSpan(1000, 10), LIMITS),
  'Rates over calls': () => new Rates(new ResultsOfCalls(8), LIMITS),
  Consecutive: () => new Consecutive(3),
  AnyTrip: () => new AnyTrip([new FailureRate(0.5, 3, 1000, 10), new Consecutive(3)]),
  Watched: watched,
}

/** Through JSON and the schema, as a save goes. */
function carried(trip: Trip, now: number): Memory {
  return parse(memorySchema, JSON.parse(JSON.stringify(trip.remember?.(now))), 'memory')
}

const reading = (trip: Trip, now: number) => [trip.value(now), trip.nearness(now), trip.explain(now), trip.idle(now)]

describe.each(Object.entries(MAKES))('%s', (_, make) => {
  test('recalled at once on another clock it reads the same, and so it does while it ages', () => {
    const script = fc.array(fc.tuple(fc.constantFrom('success', 'failure'), fc.constantFrom(5, 200), fc.nat(150)), {
      minLength: 1,
      maxLength: 40,
    })
    fc.assert(
      fc.property(script, fc.constantFrom(0, 1, 55, 100, 1e9, -5000), (todo, ahead) => {
        const [one, other] = [make(), make()]
        let now = 5000
        for (const [verdict, tookMs, ms] of todo) {
          now += ms
          one.record(verdict, tookMs, now)
        }
        other.recall?.(carried(one, now), 0, now + ahead)
        for (const later of [0, 90, 100, 550, 999, 1000, 5000])
          expect(reading(other, now + ahead + later)).toEqual(reading(one, now + later))
        const verdict = 'failure'
        expect(other.record(verdict, 200, now + ahead + 5000)).toBe(one.record(verdict, 200, now + 5000))
      }),
      { seed: 44, numRuns: 200 },
    )
  })

  test('of one that has seen nothing nothing is recalled', () => {
    const trip = make()
    trip.recall?.(carried(make(), 500), 0, 500)
    expect(trip.idle(500)).toBe(true)
    trip.recall?.({}, 0, 500)
    expect(trip.idle(500)).toBe(true)
  })
})

describe('a window in time', () => {
  test('what was remembered is older by the time since', () => {
    const trip = new FailureRate(0.5, 1, 1000, 10)
    trip.record('failure', 0, 950)
    const memory = carried(trip, 950)
    const total = (ageMs: number) => {
      const other = new FailureRate(0.5, 1, 1000, 10)
      other.recall(memory, ageMs, 20_000)
      return other.value(20_000)
    }
    expect([0, 500, 900, 1100, 1e9].map(total)).toEqual([1, 1, 1, 0, 0])
  })

  test('saved and restored over and over, on clocks that are cut anywhere, results live exactly as long as ever', () => {
    // Never empty: an empty ring has no edges to move.
    const step = fc.record({
      failures: fc.integer({ min: 1, max: 3 }),
      ms: fc.nat(130),
      clock: fc.nat(1e6),
      awayMs: fc.nat(90),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 50 }), (todo) => {
        const staying = new TimeRing(10, 100, 2)
        let moving = new TimeRing(10, 100, 2)
        let [now, clock] = [0, 0]
        for (const { failures, ms, clock: next, awayMs } of todo) {
          now += ms
          for (const ring of [staying, moving]) ring.add(1, failures, ring === staying ? now : clock + ms)
          const saved = moving.history(clock + ms).map(({ ageMs, sums }) => ({ ageMs: ageMs + awayMs, sums }))
          moving = new TimeRing(10, 100, 2)
          now += awayMs
          clock = next
          moving.recall(saved, clock)
          if (moving.total(1, clock) !== staying.total(1, now)) throw new Error(`other totals at ${now}`)
        }
      }),
      { seed: 46, numRuns: 300 },
    )
  })

  test('a new clock may be younger than what it is told of', () => {
    const ring = new TimeRing(10, 100, 2)
    ring.recall(
      [950, 50].map((ageMs) => ({ ageMs, sums: [1, 2] })),
      10,
    )
    expect([ring.total(0, 10), ring.total(1, 10)]).toEqual([2, 4])
    expect([59, 60, 959, 960].map((now) => ring.total(0, now))).toEqual([2, 1, 1, 0])
  })

  test('sums for fewer lanes, or of ages that are none', () => {
    const ring = new TimeRing(10, 100, 3)
    const ages = [0, -1000, Number.NaN, Number.POSITIVE_INFINITY, 1000, 1e12]
    ring.recall(
      ages.map((ageMs, i) => ({ ageMs, sums: i === 0 ? [1] : [7, 7, 7] })),
      500,
    )
    expect([0, 1, 2].map((lane) => ring.total(lane, 500))).toEqual([1, 0, 0])
  })

  test('its history names no empty bucket, oldest first', () => {
    const ring = new TimeRing(10, 100, 2)
    ring.add(0, 1, 120)
    ring.add(1, 4, 520)
    expect(ring.history(560)).toEqual([
      { ageMs: 460, sums: [1, 0] },
      { ageMs: 60, sums: [0, 4] },
    ])
    expect(ring.history(10_000)).toEqual([])
  })
})

describe('a window in calls', () => {
  test('its history is the results, oldest first, runs as one; pushed again they are the same ring', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.nat(3), { maxLength: 60 }), (size, masks) => {
        const ring = new CountRing(size, 2)
        for (const mask of masks) ring.push(mask)
        const results = ring.history().flatMap(({ mask, times }) => Array.from({ length: times }, () => mask))
        expect(results).toEqual(masks.slice(-size))
        expect(ring.history().every(({ mask }, i, all) => mask !== all[i - 1]?.mask)).toBe(true)
      }),
      { seed: 45, numRuns: 500 },
    )
  })

  test('of a large window the newest thousand runs are kept', () => {
    const trip = new FailureRateOfCalls(0.5, 1, 100_000)
    for (let i = 0; i < 5000; i++) trip.record(i % 2 === 0 ? 'success' : 'failure')
    const { results = [] } = carried(trip, 0)
    expect([results.length, results.at(-1)]).toEqual([1000, { failed: true, slow: false, times: 1 }])
  })

  test('a run that is longer than the window fills it, and no more', () => {
    const trip = new FailureRateOfCalls(0.5, 1, 10)
    trip.recall({ results: [{ failed: true, slow: false, times: 1e9 }] })
    expect([trip.value(), trip.explain()]).toEqual([
      1,
      '10 of 10 calls failed of the last 10 calls (100 %, limit 50 %)',
    ])
  })
})
