import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RecentHistogram } from '../../src/algorithms/stats/recent-histogram.ts'

test('forgets by halves', () => {
  const recent = new RecentHistogram(30_000)
  recent.record(10, 14_900)
  recent.record(20, 15_100)
  expect([recent.count(29_999), recent.percentile(0.5, 29_999), recent.percentile(1, 29_999)]).toEqual([2, 10, 20])
  expect([recent.count(30_000), recent.percentile(0.5, 30_000)]).toEqual([1, 20])
  expect([recent.count(45_000), recent.percentile(0.5, 45_000)]).toEqual([0, undefined])
})

test('an idle month leaves nothing, also of the half that was filling', () => {
  const recent = new RecentHistogram(30_000)
  recent.record(10, 1)
  recent.record(10, 15_001)
  expect(recent.count(2_592_000_000)).toBe(0)
  recent.record(5, 2_592_000_000)
  expect(recent.percentile(0.5, 2_592_000_001)).toBe(5)
})

test('a clock that steps back, and none at all, lose nothing', () => {
  const recent = new RecentHistogram(30_000)
  recent.record(10, 100_000)
  for (const now of [5, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]) recent.record(10, now)
  expect(recent.count(100_000)).toBe(5)
})

test('no span is none', () => {
  expect(() => new RecentHistogram(0)).toThrow('spanMs')
  expect(() => new RecentHistogram(10).percentile(2, 0)).toThrow(RangeError)
})

test('reads what is younger than half the span, and nothing that is older than the whole', () => {
  const steps = fc.array(
    fc.record({ after: fc.double({ min: 0, max: 40, noNaN: true }), ms: fc.integer({ min: 1, max: 9 }) }),
  )
  fc.assert(
    fc.property(steps, (all) => {
      const recent = new RecentHistogram(20)
      const seen: { at: number; ms: number }[] = []
      let now = 0
      for (const { after, ms } of all) {
        now += after
        recent.record(ms, now)
        seen.push({ at: now, ms })
        const count = recent.count(now)
        expect(count).toBeGreaterThanOrEqual(seen.filter(({ at }) => now - at < 10).length)
        expect(count).toBeLessThanOrEqual(seen.filter(({ at }) => now - at <= 20).length)
        // What is read are the newest ones.
        const last = seen.slice(-count).map((one) => one.ms)
        expect([recent.percentile(0, now), recent.percentile(1, now)]).toEqual([Math.min(...last), Math.max(...last)])
      }
    }),
  )
})
