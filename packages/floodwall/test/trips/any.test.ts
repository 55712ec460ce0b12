import { describe, expect, test } from 'vitest'
import { AnyTrip } from '../../src/algorithms/trips/any.ts'
import { Consecutive } from '../../src/algorithms/trips/consecutive.ts'
import { FailureRate } from '../../src/algorithms/trips/failure-rate.ts'

function both(): AnyTrip {
  return new AnyTrip([new FailureRate(0.5, 10, 1000, 10), new Consecutive(3)])
}

describe('any of several trips', () => {
  test.each([
    ['the first opens', 'sfsfsfsfsf', 10],
    ['the second opens', 'sfff', 4],
    ['both open', 'fff', 3],
    ['neither opens', 'sffsffsff', 0],
  ])('%s', (_, results, at) => {
    const trip = both()
    expect([...results].findIndex((r) => trip.record(r === 'f' ? 'failure' : 'success', 0, 0)) + 1).toBe(at)
  })

  test('each sees every result, also when one before it has opened', () => {
    const [first, second] = [new Consecutive(1), new Consecutive(100)]
    const trip = new AnyTrip([first, second])
    for (let i = 0; i < 3; i++) expect(trip.record('failure', 0, 0)).toBe(true)
    expect([first.value(), second.value()]).toEqual([3, 3])
    trip.reset(0)
    expect([first.value(), second.value(), trip.idle(0)]).toEqual([0, 0, true])
  })

  test('the one nearest to its limit speaks', () => {
    const trip = both()
    trip.record('failure', 0, 0)
    trip.record('failure', 0, 0)
    expect([trip.value(0), trip.limit(0), trip.nearness(0)]).toEqual([2, 3, 2 / 3])
    for (let i = 0; i < 6; i++) trip.record('success', 0, 0)
    expect([trip.value(0), trip.limit(0), trip.nearness(0)]).toEqual([0.25, 0.5, 0.5])
    expect(trip.explain(0)).toBe('2 of 8 calls failed in the last 1s (25 %, limit 50 %)')
  })

  test('all that would open are named, so that the one that did is among them', () => {
    const trip = new AnyTrip([new FailureRate(0.5, 2, 1000, 10), new Consecutive(3)])
    for (let i = 0; i < 3; i++) trip.record('failure', 0, 0)
    expect(trip.explain(0)).toBe(
      '3 of 3 calls failed in the last 1s (100 %, limit 50 %) and 3 calls failed in a row (limit 3)',
    )
  })

  test('idle when all are', () => {
    const trip = both()
    trip.record('failure', 0, 0)
    expect([trip.idle(0), trip.idle(1000)]).toEqual([false, false])
    trip.record('success', 0, 1000)
    expect([trip.idle(1000), trip.idle(2000)]).toEqual([false, true])
  })
})
