import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Consecutive } from '../../src/algorithms/trips/consecutive.ts'
import { type Result, run } from './naive-trips.ts'

/** The number of the result that opens, or 0. */
function opensAt(trip: Consecutive, results: string): number {
  return [...results].findIndex((r) => trip.record(r === 'f' ? 'failure' : 'success')) + 1
}

describe('failures in a row', () => {
  test.each([
    [1, 'f', 1],
    [1, 'ssf', 3],
    [5, 'ffff', 0],
    [5, 'fffff', 5],
    [5, 'ffffsfffff', 10], // the worked example
    [5, 'ffffsffffsffff', 0],
    [2, 'fsfsfsfsfs', 0],
    [2, 'fsfsff', 6],
  ])('limit %i, results %s: opens at %i', (limit, results, at) => {
    expect(opensAt(new Consecutive(limit), results)).toBe(at)
  })

  test('a timeout is a failure', () => {
    const trip = new Consecutive(2)
    expect([trip.record('timeout'), trip.record('failure')]).toEqual([false, true])
  })

  test('past the limit it still says open: who was let through meanwhile does not reset it', () => {
    const trip = new Consecutive(2)
    expect(['failure', 'failure', 'failure'].map(() => trip.record('failure'))).toEqual([false, true, true])
  })

  test('reads: value, limit, nearness, words, idle', () => {
    const trip = new Consecutive(4)
    expect([trip.value(), trip.limit(), trip.nearness(), trip.idle()]).toEqual([0, 4, 0, true])
    opensAt(trip, 'sff')
    expect([trip.value(), trip.nearness(), trip.idle()]).toEqual([2, 0.5, false])
    expect(trip.explain()).toBe('2 calls failed in a row (limit 4)')
    trip.record('success')
    expect([trip.value(), trip.idle()]).toEqual([0, true])
  })

  test('reset forgets the run', () => {
    const trip = new Consecutive(2)
    trip.record('failure')
    trip.reset()
    expect([trip.idle(), trip.record('failure'), trip.record('failure')]).toEqual([true, false, true])
  })

  test('10^5 random results in all: like counting a list from its end', () => {
    let results = 0
    const steps = fc.array(
      fc.nat(9).map((dice) => dice < 7),
      { minLength: 500, maxLength: 500 },
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), steps, (limit, failures) => {
        const trip = new Consecutive(limit)
        const list: Result[] = []
        for (const failed of failures) {
          list.push({ failed, at: 0 })
          const open = trip.record(failed ? 'failure' : 'success')
          if (open !== run(list) >= limit || trip.value() !== run(list)) throw new Error(`open is ${open}`)
          results++
        }
      }),
      { seed: 23, numRuns: 200 },
    )
    expect(results).toBe(100_000)
  })
})
