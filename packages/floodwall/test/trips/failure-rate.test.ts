import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FailureRate } from '../../src/algorithms/trips/failure-rate.ts'
import { type Result, tooMany, within } from './naive-trips.ts'

/** Results at one instant: `'ffs'` is two failures and a success. The number of the result that opens, or 0. */
function opensAt(trip: FailureRate, results: string, now = 0): number {
  return [...results].findIndex((r) => trip.record(r === 'f' ? 'failure' : 'success', 0, now)) + 1
}

describe('the failure rate over a span', () => {
  test('the worked example: 20 calls, 12 bad or more, share 0.5: the 20th opens if it fails', () => {
    expect(opensAt(new FailureRate(0.5, 20, 10_000, 10), 'sffffffffffffsssssss')).toBe(0)
    expect(opensAt(new FailureRate(0.5, 20, 10_000, 10), 'ffffffffffffsssssssf')).toBe(20)
  })

  test.each([
    // share, atLeast, results, opens at
    [0.5, 1, 'f', 1],
    [0.5, 1, 's', 0],
    [0.5, 2, 'f', 0],
    [0.5, 2, 'fs', 0], // exactly the share, but who answers is not cut off
    [0.5, 2, 'fsf', 3],
    [0.5, 2, 'sf', 2],
    [0.5, 3, 'fss', 0],
    [0.5, 3, 'ffs', 0],
    [0.5, 3, 'ffsf', 4],
    [0.5, 4, 'fsff', 4], // atLeast exactly
    [0.5, 5, 'ffff', 0], // one less
    [1, 3, 'ffsfffffff', 0],
    [1, 3, 'fff', 3],
    [0.01, 100, `${'s'.repeat(99)}f`, 100],
    [0.01, 100, `${'s'.repeat(98)}f`, 0],
    [0.01, 101, `f${'s'.repeat(100)}`, 0],
    [1 / 3, 3, 'ssf', 3],
    [2 / 3, 3, 'sff', 3],
    [1, 1, 'ssssssssf', 0],
    [1e-9, 1, 'ssssssssf', 9],
  ])('share %d, at least %i, results %s: opens at %i', (share, atLeast, results, at) => {
    expect(opensAt(new FailureRate(share, atLeast, 10_000, 10), results)).toBe(at)
  })

  test('a share that no double holds exactly is met by exactly that share', () => {
    // 0.07 · 100 is 7.000000000000001 in doubles, 0.55 · 100 is 55.00000000000001.
    for (let percent = 1; percent <= 100; percent++) {
      const trip = new FailureRate(percent / 100, 100, 10_000, 10)
      expect(opensAt(trip, 's'.repeat(100 - percent) + 'f'.repeat(percent)), `${percent} %`).toBe(100)
      trip.reset(0)
      expect(opensAt(trip, 's'.repeat(101 - percent) + 'f'.repeat(percent - 1)), `${percent} %, one less`).toBe(0)
    }
  })

  test('a timeout is a failure', () => {
    expect(new FailureRate(0.5, 1, 1000, 1).record('timeout', 5, 0)).toBe(true)
  })

  test('successes alone never open, at any share', () => {
    expect(opensAt(new FailureRate(Number.MIN_VALUE, 1, 10_000, 10), 's'.repeat(1000))).toBe(0)
  })

  test('a result leaves with its bucket; the rest may open without it', () => {
    const trip = new FailureRate(0.5, 2, 1000, 10)
    trip.record('success', 0, 0)
    trip.record('failure', 0, 0)
    // Both gone at 1000: the minimum is not reached by one.
    expect(trip.record('failure', 0, 1000)).toBe(false)
    expect(trip.record('failure', 0, 1099)).toBe(true)
  })

  test('time alone never opens: after the successes have gone, the next result decides', () => {
    const trip = new FailureRate(0.5, 2, 1000, 10)
    for (let i = 0; i < 8; i++) trip.record('success', 0, 0)
    expect([1, 2].map(() => trip.record('failure', 0, 500))).toEqual([false, false])
    expect([trip.value(999), trip.value(1000)]).toEqual([0.2, 1])
    expect(trip.record('success', 0, 1000)).toBe(false)
    expect(trip.record('failure', 0, 1000)).toBe(true)
  })

  test('after a short outage the share rises while every call succeeds: that opens nothing', () => {
    const trip = new FailureRate(0.5, 10, 10_000, 10)
    let opened = false
    // 20 good calls a second for 10 s, an outage of 2 s that stays just below the limit, then all is well again.
    for (let at = 0; at < 10_000; at += 50) trip.record('success', 0, at)
    for (let at = 10_000; at < 14_000; at += 50) opened ||= trip.record('failure', 0, at)
    for (let at = 14_000; at < 30_000; at += 50) opened ||= trip.record('success', 0, at)
    expect(trip.value(18_000)).toBe(0)
    expect(opened).toBe(false)
  })

  test('one bucket: all or nothing', () => {
    const trip = new FailureRate(0.5, 2, 1000, 1)
    trip.record('failure', 0, 999)
    expect(trip.record('failure', 0, 1000)).toBe(false)
    expect(trip.record('failure', 0, 1999)).toBe(true)
  })

  test('reads: value, limit, nearness, words, idle; without calls 0, never NaN', () => {
    const trip = new FailureRate(0.5, 4, 10_000, 10)
    expect([trip.value(0), trip.limit(), trip.nearness(0), trip.idle(0)]).toEqual([0, 0.5, 0, true])
    expect(trip.explain(0)).toBe('0 of 0 calls failed in the last 10s (0 %, limit 50 %)')
    opensAt(trip, 'sfs')
    expect([trip.value(0), trip.nearness(0), trip.idle(0)]).toEqual([1 / 3, 2 / 3, false])
    expect(trip.explain(0)).toBe('1 of 3 calls failed in the last 10s (33.3 %, limit 50 %)')
    expect([trip.value(10_000), trip.nearness(10_000), trip.idle(10_000)]).toEqual([0, 0, true])
  })

  test('nearness is 1 when it opens, and below while no failure could', () => {
    const trip = new FailureRate(0.5, 4, 10_000, 10)
    for (const verdict of ['failure', 'success', 'success', 'failure', 'success', 'failure'] as const) {
      const open = trip.record(verdict, 0, 0)
      if (open) expect(trip.nearness(0)).toBeGreaterThanOrEqual(1)
    }
  })

  test('reset forgets everything', () => {
    const trip = new FailureRate(0.5, 2, 10_000, 10)
    trip.record('failure', 0, 0)
    trip.reset(5000)
    expect(trip.idle(5000)).toBe(true)
    expect(trip.record('failure', 0, 5000)).toBe(false)
  })

  test('10^5 random results in all: like counting a list', () => {
    let results = 0
    const life = fc.record({
      percent: fc.integer({ min: 1, max: 100 }),
      atLeast: fc.integer({ min: 1, max: 40 }),
      buckets: fc.integer({ min: 1, max: 12 }),
      widthMs: fc.integer({ min: 1, max: 1000 }),
      startAt: fc.constantFrom(0, 1, 999, 1e9, 1e12),
      steps: fc.array(fc.tuple(fc.boolean(), fc.oneof(fc.constant(0), fc.nat(50), fc.nat(20_000))), {
        minLength: 500,
        maxLength: 500,
      }),
    })
    fc.assert(
      fc.property(life, ({ percent, atLeast, buckets, widthMs, startAt, steps }) => {
        const trip = new FailureRate(percent / 100, atLeast, buckets * widthMs, buckets)
        let list: Result[] = []
        let now = startAt
        for (const [failed, ms] of steps) {
          now += ms
          list = within([...list, { failed, at: now }], now, buckets, widthMs)
          const open = trip.record(failed ? 'failure' : 'success', 0, now)
          if (open !== tooMany(list, atLeast, percent, 100)) throw new Error(`open is ${open} at ${now}`)
          if (trip.value(now) !== list.filter((r) => r.failed).length / list.length) throw new Error(`value at ${now}`)
          results++
        }
      }),
      { seed: 21, numRuns: 200 },
    )
    expect(results).toBe(100_000)
  })
})
