import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FailureRateOfCalls } from '../../src/algorithms/trips/failure-rate.ts'
import { type Result, tooMany } from './naive-trips.ts'

/** The number of the result that opens, or 0. */
function opensAt(trip: FailureRateOfCalls, results: string): number {
  return [...results].findIndex((r) => trip.record(r === 'f' ? 'failure' : 'success')) + 1
}

describe('the failure rate over the last calls', () => {
  test.each([
    // share, atLeast, lastCalls, results, opens at
    [0.5, 1, 1, 'f', 1],
    [0.5, 1, 1, 's', 0],
    [0.5, 1, 1, 'ssf', 3],
    [0.5, 2, 4, 'f', 0],
    [0.5, 2, 4, 'fs', 0], // exactly the share, but who answers is not cut off
    [0.5, 2, 4, 'sf', 2],
    [0.5, 4, 4, 'fff', 0],
    [0.5, 4, 4, 'ffsf', 4], // atLeast exactly
    [0.5, 4, 4, 'ffss', 0],
    [0.5, 4, 4, 'fsss', 0],
    [0.5, 4, 4, 'fsssf', 0], // the first has left
    [0.5, 4, 4, 'fsssff', 6],
    [1, 3, 3, 'fffsff', 3],
    [1, 3, 3, 'sff', 0],
    [1, 3, 3, 'sfff', 4],
    [0.34, 3, 3, 'fss', 0],
    [0.33, 3, 3, 'ssf', 3],
    // A minimum that the window can never hold is the window.
    [0.5, 5, 4, 'ffff', 4],
    [0.5, 1000, 4, 'fff', 0],
    [0.5, 1000, 1, 'f', 1],
  ])('share %d, at least %i of the last %i, results %s: opens at %i', (share, atLeast, lastCalls, results, at) => {
    expect(opensAt(new FailureRateOfCalls(share, atLeast, lastCalls), results)).toBe(at)
  })

  test('a share that no double holds exactly is met by exactly that share', () => {
    for (let percent = 1; percent <= 100; percent++) {
      const trip = new FailureRateOfCalls(percent / 100, 100, 100)
      expect(opensAt(trip, 's'.repeat(100 - percent) + 'f'.repeat(percent)), `${percent} %`).toBe(100)
      trip.reset()
      expect(opensAt(trip, 's'.repeat(101 - percent) + 'f'.repeat(percent - 1)), `${percent} %, one less`).toBe(0)
    }
  })

  test('a timeout is a failure', () => {
    expect(new FailureRateOfCalls(0.5, 1, 1).record('timeout')).toBe(true)
  })

  test('reads: value, limit, nearness, words, idle; without calls 0, never NaN', () => {
    const trip = new FailureRateOfCalls(0.5, 4, 8)
    expect([trip.value(), trip.limit(), trip.nearness(), trip.idle()]).toEqual([0, 0.5, 0, true])
    expect(trip.explain()).toBe('0 of 0 calls failed of the last 8 calls (0 %, limit 50 %)')
    opensAt(trip, 'sfs')
    expect([trip.value(), trip.nearness(), trip.idle()]).toEqual([1 / 3, 2 / 3, false])
    expect(trip.explain()).toBe('1 of 3 calls failed of the last 8 calls (33.3 %, limit 50 %)')
  })

  test('it does not age: a call of last year counts', () => {
    const trip = new FailureRateOfCalls(0.5, 2, 2)
    trip.record('failure')
    expect(trip.idle()).toBe(false)
    expect(trip.record('failure')).toBe(true)
  })

  test('reset forgets everything, half-way round too', () => {
    const trip = new FailureRateOfCalls(0.5, 3, 3)
    opensAt(trip, 'sssff')
    trip.reset()
    expect([trip.idle(), opensAt(trip, 'ff'), opensAt(trip, 'f')]).toEqual([true, 0, 1])
  })

  test('10^5 random results in all: like counting a list', () => {
    let results = 0
    const life = fc.record({
      percent: fc.integer({ min: 1, max: 100 }),
      atLeast: fc.integer({ min: 1, max: 60 }),
      lastCalls: fc.integer({ min: 1, max: 50 }),
      steps: fc.array(fc.boolean(), { minLength: 500, maxLength: 500 }),
    })
    fc.assert(
      fc.property(life, ({ percent, atLeast, lastCalls, steps }) => {
        const trip = new FailureRateOfCalls(percent / 100, atLeast, lastCalls)
        let list: Result[] = []
        for (const failed of steps) {
          list = [...list, { failed, at: 0 }].slice(-lastCalls)
          const open = trip.record(failed ? 'failure' : 'success')
          if (open !== tooMany(list, Math.min(atLeast, lastCalls), percent, 100)) throw new Error(`open is ${open}`)
          if (trip.value() !== list.filter((r) => r.failed).length / list.length) throw new Error('value')
          results++
        }
      }),
      { seed: 22, numRuns: 200 },
    )
    expect(results).toBe(100_000)
  })
})
