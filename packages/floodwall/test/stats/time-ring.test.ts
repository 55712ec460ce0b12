import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TimeRing } from '../../src/algorithms/stats/time-ring.ts'
import { agree, beside, DAY_30, EventLog, MAX_TIMER, moved, moves, NOT_SAMPLES, SEEDED } from './event-log.ts'

/** 10 buckets of 1 s, with one failure at each of 0.5, 1.5 ... 9.5 s. */
function tenFailures(): TimeRing {
  const ring = new TimeRing(10, 1000, 2)
  for (let second = 0; second < 10; second++) ring.add(0, 1, second * 1000 + 500)
  return ring
}

/** Counts the writes to the ring's cells from here on. */
function countWrites(ring: TimeRing): { writes: number } {
  const seen = { writes: 0 }
  const inside = ring as unknown as { cells: number[] }
  inside.cells = new Proxy(inside.cells, {
    set(target, key, value) {
      seen.writes++
      return Reflect.set(target, key, value)
    },
  })
  return seen
}

describe('C05 idle gap: old buckets stay dead', () => {
  test('C05 before the gap all ten failures are in the window', () => {
    expect(tenFailures().total(0, 9_999.999)).toBe(10)
  })

  test('C05 (a) next failure at 19.6 s: total 1', () => {
    const ring = tenFailures()
    ring.add(0, 1, 19_600)
    expect(ring.total(0, 19_600)).toBe(1)
  })

  test('C05 (b) next failure at 14.6 s: seconds 5 to 9 and the new one, total 6', () => {
    const ring = tenFailures()
    ring.add(0, 1, 14_600)
    expect(ring.total(0, 14_600)).toBe(6)
  })

  test('C05 (c) only read at 25 s: total 0, and it stays 0', () => {
    const ring = tenFailures()
    expect(ring.total(0, 25_000)).toBe(0)
    expect(ring.total(0, 25_000)).toBe(0)
    ring.add(0, 1, 25_000)
    expect(ring.total(0, 25_000)).toBe(1)
  })

  test.each([
    ['10 buckets', 10_000],
    ['2^31 ms', MAX_TIMER],
    ['30 days', DAY_30],
    ['1e15 ms', 1e15],
  ])('C05 (d) a gap of %s: total 1, for one pass over the buckets', (_, gap) => {
    const ring = tenFailures()
    const seen = countWrites(ring)
    ring.add(0, 1, 9_500 + gap)
    // 10 buckets of 2 lanes emptied, 2 totals, and the event in its bucket and its total.
    expect(seen.writes).toBe(10 * 2 + 2 + 2)
    expect(ring.total(0, 9_500 + gap)).toBe(1)
    expect(seen.writes).toBe(24)
  })

  test('C05 (d) a gap of one bucket empties one bucket', () => {
    const ring = tenFailures()
    const seen = countWrites(ring)
    ring.add(0, 1, 10_500)
    expect(seen.writes).toBe(1 * 2 + 2 + 2)
  })

  test('C05 (e) an event at 10.000 s is in the new bucket only', () => {
    const ring = tenFailures()
    ring.add(0, 1, 10_000)
    expect(ring.total(0, 10_000)).toBe(10) // the failure of 0.5 s has left, the new one is in
    expect(ring.total(0, 18_999)).toBe(2) // 9.5 s and 10 s
    expect(ring.total(0, 19_000)).toBe(1)
    expect(ring.total(0, 19_999)).toBe(1)
    expect(ring.total(0, 20_000)).toBe(0)
  })

  test('C05 (e) an event just before the edge is in the old bucket only', () => {
    const ring = new TimeRing(10, 1000, 1)
    ring.add(0, 1, beside(10_000, -1))
    expect(ring.total(0, beside(19_000, -1))).toBe(1)
    expect(ring.total(0, 19_000)).toBe(0)
  })

  test('C05 an empty window is 0, never NaN', () => {
    const ring = new TimeRing(10, 1000, 2)
    for (const now of [0, 1, 5e5, 1e15]) expect([ring.total(0, now), ring.total(1, now)]).toEqual([0, 0])
  })
})

describe('C06 the clock steps back', () => {
  test('C06 five failures, an hour back, one success: 5 and 1', () => {
    const ring = new TimeRing(10, 1000, 2)
    for (let i = 0; i < 5; i++) ring.add(1, 1, 7_200_000 + i * 900)
    ring.add(0, 1, 3_600_000)
    expect([ring.total(0, 3_600_000), ring.total(1, 3_600_000)]).toEqual([1, 5])
    expect([ring.total(0, 7_203_600), ring.total(1, 7_203_600)]).toEqual([1, 5])
  })

  test('C06 what is counted while the clock is back expires with the newest bucket', () => {
    const ring = new TimeRing(10, 1000, 1)
    ring.add(0, 1, 100_000)
    for (let i = 0; i < 20; i++) ring.add(0, 1, 50_000 + i * 1000)
    expect(ring.total(0, 109_999)).toBe(21)
    expect(ring.total(0, 110_000)).toBe(0)
  })

  test('C06 a reading that is no time counts as the newest, and stops nothing', () => {
    const ring = new TimeRing(10, 1000, 1)
    ring.add(0, 1, 5_000)
    for (const now of [NaN, Infinity, -Infinity, -1]) {
      ring.add(0, 1, now)
      expect(ring.total(0, now)).toBeGreaterThan(1)
    }
    expect(ring.total(0, 14_999)).toBe(5)
    expect(ring.total(0, 15_000)).toBe(0)
  })

  test('C06 amounts that are no samples are dropped and counted', () => {
    const ring = new TimeRing(10, 1000, 1)
    ring.add(0, 20, 0)
    for (const amount of NOT_SAMPLES) ring.add(0, amount, 0)
    ring.add(0, 0, 0)
    expect(ring.total(0, 0)).toBe(20)
    expect(ring.dropped).toBe(NOT_SAMPLES.length)
  })

  test('C06 sums of the largest samples stay finite', () => {
    const ring = new TimeRing(1, 1000, 1)
    for (let i = 0; i < 10_000; i++) ring.add(0, Number.MAX_SAFE_INTEGER, 0)
    expect(Number.isFinite(ring.total(0, 0))).toBe(true)
  })
})

describe('TimeRing', () => {
  test('says what it is made of', () => {
    const ring = new TimeRing(10, 250, 3)
    expect([ring.buckets, ring.widthMs, ring.lanes, ring.spanMs]).toEqual([10, 250, 3, 2500])
  })

  test('lanes do not mix, and turn together', () => {
    const ring = new TimeRing(3, 100, 3)
    ring.add(0, 1, 0)
    ring.add(1, 10, 100)
    ring.add(2, 100, 200)
    expect([0, 1, 2].map((lane) => ring.total(lane, 299))).toEqual([1, 10, 100])
    expect([0, 1, 2].map((lane) => ring.total(lane, 300))).toEqual([0, 10, 100])
    expect([0, 1, 2].map((lane) => ring.total(lane, 499))).toEqual([0, 0, 100])
  })

  test('a first event at any time counts, with all buckets before it empty', () => {
    for (const start of [0, 0.25, 999, 1000, 86_400_000, MAX_TIMER, 1e15]) {
      const ring = new TimeRing(10, 1000, 1)
      ring.add(0, 1, start)
      expect(ring.total(0, start)).toBe(1)
      expect(ring.total(0, start + 10_000)).toBe(0)
    }
  })

  test('10,000 events in one tick, and 10,000 laps', () => {
    const ring = new TimeRing(10, 1000, 1)
    for (let i = 0; i < 10_000; i++) ring.add(0, 1, 500)
    expect(ring.total(0, 500)).toBe(10_000)
    for (let lap = 1; lap <= 10_000; lap++) {
      ring.add(0, 1, lap * 10_000)
      expect(ring.total(0, lap * 10_000)).toBe(1)
    }
  })

  test('one bucket forgets everything at each edge', () => {
    const ring = new TimeRing(1, 1000, 1)
    ring.add(0, 1, 999.9)
    expect(ring.total(0, 999.99)).toBe(1)
    expect(ring.total(0, 1000)).toBe(0)
  })

  test('fractions leave no rounding behind', () => {
    const ring = new TimeRing(10, 10, 1)
    for (let now = 0; now < 100_000; now++) ring.add(0, 0.1, now)
    expect(ring.total(0, 99_999)).toBeCloseTo(10, 10)
    ring.add(0, 1e15, 100_000)
    ring.add(0, 0.1, 100_010)
    expect(ring.total(0, 100_100)).toBe(0.1) // 1e15 + 0.1 - 1e15 would be 0.125
    expect(ring.total(0, 100_110)).toBe(0)
  })

  test('clear forgets the events and keeps the time', () => {
    const ring = tenFailures()
    ring.add(0, -1, 9_500)
    ring.clear(9_600)
    expect(ring.total(0, 9_600)).toBe(0)
    ring.add(0, 1, 2_000) // back: still 9.6 s
    expect(ring.total(0, 18_999)).toBe(1)
    expect(ring.total(0, 19_000)).toBe(0)
    ring.add(0, 1, 20_000)
    ring.clear(DAY_30)
    ring.clear(DAY_30)
    ring.add(0, 1, 20_000) // back: still 30 days
    expect(ring.total(0, DAY_30 + 9_999)).toBe(1)
    expect(ring.total(0, DAY_30 + 10_000)).toBe(0)
    expect(ring.dropped).toBe(1)
  })

  test('a time past 2^53 buckets degrades to a window that is always new, and throws nothing', () => {
    const ring = new TimeRing(10, 1, 1)
    for (const now of [1e17, 1e18, 1e300, Number.MAX_VALUE]) {
      ring.add(0, 1, now)
      expect(ring.total(0, now)).toBe(1)
    }
  })

  test.each([
    ['buckets', [0, 1000, 2], 'buckets is 0, expected a whole number from 1 to 65536'],
    ['buckets', [1.5, 1000, 2], 'buckets is 1.5,'],
    ['buckets', [65_537, 1000, 2], 'buckets is 65537,'],
    ['widthMs', [10, 0, 2], 'widthMs is 0, expected milliseconds above 0'],
    ['widthMs', [10, -1, 2], 'widthMs is -1,'],
    ['widthMs', [10, NaN, 2], 'widthMs is NaN,'],
    ['widthMs', [10, Infinity, 2], 'widthMs is Infinity,'],
    ['widthMs', [10, '60', 2], 'widthMs is "60",'],
    ['widthMs', [10, undefined, 2], 'widthMs is undefined,'],
    ['lanes', [10, 1000, 0], 'lanes is 0, expected a whole number from 1 to 32'],
    ['lanes', [10, 1000, 33], 'lanes is 33,'],
  ])('C07 refuses %s in %j', (_, args, message) => {
    const [buckets, widthMs, lanes] = args as [number, number, number]
    expect(() => new TimeRing(buckets, widthMs, lanes)).toThrow(RangeError)
    expect(() => new TimeRing(buckets, widthMs, lanes)).toThrow(message)
  })

  test('C07 a window of 30 days holds', () => {
    const ring = new TimeRing(10, DAY_30 / 10, 1)
    for (let i = 0; i < 6; i++) ring.add(0, 1, 0)
    expect(ring.total(0, 50)).toBe(6)
    expect(ring.total(0, DAY_30 - 1)).toBe(6)
    expect(ring.total(0, DAY_30)).toBe(0)
  })
})

describe('TimeRing against a list of all events', () => {
  const steps = fc.array(
    fc.record({
      move: moves,
      lane: fc.integer({ min: 0, max: 2 }),
      // Eighths add up exactly, so that the two sums can be compared to the last bit.
      amount: fc.oneof(
        fc.constant(1),
        fc.integer({ min: 0, max: 8_000 }).map((n) => n / 8),
      ),
      act: fc.constantFrom('add', 'add', 'add', 'add', 'read', 'read', 'clear'),
    }),
    { minLength: 40, maxLength: 70, size: 'max' },
  )

  test('100,000 random steps: every total of every lane agrees', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(1, 100, 1000, 0.1, 33.3, 1000 / 3, 0.125),
        fc.constantFrom(0, 0.5, 12_345.625, MAX_TIMER, 1e12),
        steps,
        (buckets, widthMs, start, list) => {
          const ring = new TimeRing(buckets, widthMs, 3)
          const log = new EventLog(buckets, widthMs)
          let at: number = start
          for (const { move, lane, amount, act } of list) {
            taken++
            at = moved(at, move, widthMs)
            const now = move.kind === 'odd' ? move.now : at
            if (act === 'add') {
              ring.add(lane, amount, now)
              log.add(lane, amount, now)
            } else if (act === 'clear') {
              ring.clear(now)
              log.clear(now)
            }
            for (const each of [0, 1, 2]) agree(ring.total(each, now), log.total(each, now))
          }
        },
      ),
      SEEDED,
    )
    expect(taken).toBeGreaterThan(100_000)
  })
})
