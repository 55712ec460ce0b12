import fc from 'fast-check'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type SketchKey, TopK, type TopKSize } from '../../src/algorithms/sketches/top-k.ts'
import { ExactCounts, zipf } from './heavy-keeper-streams.ts'

const top = <K extends SketchKey = string>(size: Partial<TopKSize> = {}, seed = 1) =>
  new TopK<K>({ k: 3, halfLifeMs: 10_000, ...size }, seeded(seed))

describe('against exact counts', () => {
  test.each([
    [1.01, 0.9, 0.03],
    [1.2, 0.95, 0.01],
    [1.5, 1, 0.001],
    [3, 1, 0.001],
  ])('zipf %f: recall at least %f, mean error at most %f, over 256 columns', (exponent, recall, error) => {
    const k = 20
    const sketch = top<number>({ k, width: 256 })
    const exact = new ExactCounts<number>()
    const next = zipf(exponent, 20_000, 4)
    for (let i = 0; i < 60_000; i++) {
      const key = next()
      sketch.add(key, 0)
      exact.add(key, 0)
    }
    const found = sketch.list(0)
    const least = exact.top(k, 0).at(-1)?.count as number
    // Equal ones are equally right.
    const right = found.filter(({ key }) => exact.count(key, 0) >= least).length
    const errors = found.map(({ key, count }) => 1 - count / exact.count(key, 0))
    expect(right / k).toBeGreaterThanOrEqual(recall)
    expect(errors.reduce((sum, e) => sum + e, 0) / k).toBeLessThanOrEqual(error)
    expect(Math.min(...errors)).toBeGreaterThanOrEqual(0)
    expect(sketch.total(0)).toBe(60_000)
  })

  test('the hot set moves: after two half-lives of other calls the list is of the others', () => {
    const sketch = top<number>({ k: 10 })
    const exact = new ExactCounts<number>(10_000)
    const next = zipf(1.2, 5000, 6)
    for (let now = 0; now < 60_000; now += 2) {
      const key = next() + (now < 40_000 ? 0 : 100_000)
      sketch.add(key, now)
      exact.add(key, now)
    }
    const right = exact.top(10, 60_000).map(({ key }) => key)
    const found = sketch.list(60_000).map(({ key }) => key)
    expect(found.filter((key) => right.includes(key)).length).toBeGreaterThanOrEqual(9)
    expect(found.filter((key) => key >= 100_000).length).toBeGreaterThanOrEqual(7)
  })

  const step = fc.record({
    key: fc.integer({ min: 0, max: 12 }),
    weight: fc.oneof(fc.constant(1), fc.double({ min: 0.01, max: 1000, noNaN: true })),
    ms: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 }), fc.constant(400_000)),
  })

  test('any history: no count is above the truth; the order is that of the counts; the heap holds at most k', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), fc.integer({ min: 1, max: 4 }), (steps, k) => {
        const sketch = top<number>({ k, width: 4, depth: 2 })
        const exact = new ExactCounts<number>(10_000)
        let now = 0
        for (const { key, weight, ms } of steps) {
          now += ms
          const counted = sketch.add(key, now, weight)
          exact.add(key, now, weight)
          if (counted > exact.count(key, now) * (1 + 1e-9) || sketch.has(key) !== counted > 0)
            throw new Error(`${key}: ${counted} of ${exact.count(key, now)}`)
        }
        const list = sketch.list(now)
        const counts = list.map(({ count }) => count)
        expect(list.length).toBeLessThanOrEqual(k)
        expect(counts).toEqual([...counts].sort((a, b) => b - a))
        for (const { key, count } of list) expect(count).toBeLessThanOrEqual(exact.count(key, now) * (1 + 1e-9))
        expect(sketch.total(now)).toBeCloseTo(exact.total(now), 6)
      }),
      { seed: 8, numRuns: 200 },
    )
  })

  test('with room for all keys it is exact', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const sketch = top<number>({ k: 13 })
        const exact = new ExactCounts<number>(10_000)
        let now = 0
        for (const { key, weight, ms } of steps) {
          sketch.add(key, (now += ms), weight)
          exact.add(key, now, weight)
        }
        for (let key = 0; key <= 12; key++) {
          const truth = exact.count(key, now)
          expect(Math.abs(sketch.count(key, now) - truth)).toBeLessThanOrEqual(truth * 1e-9)
        }
      }),
      { seed: 9, numRuns: 100 },
    )
  })
})

describe('who enters', () => {
  test('a newcomer that only equals the least stays out, and is not told as among the k', () => {
    const sketch = top({ k: 2 })
    for (const key of ['a', 'b']) for (let i = 0; i < 3; i++) sketch.add(key, 0)
    expect([sketch.add('c', 0), sketch.add('c', 0), sketch.add('c', 0)]).toEqual([0, 0, 0])
    expect([sketch.has('c'), sketch.count('c', 0)]).toEqual([false, 3])
    expect(sketch.add('c', 0)).toBe(4)
    expect(sketch.list(0).map(({ key }) => key)).toEqual(['c', expect.stringMatching(/[ab]/)])
  })

  test('one of the k goes when it is overtaken, and comes back with what the sketch remembers', () => {
    const sketch = top({ k: 1 })
    sketch.add('a', 0, 5)
    expect(sketch.add('b', 0, 6)).toBe(6)
    expect([sketch.has('a'), sketch.count('a', 0)]).toEqual([false, 5])
    expect(sketch.add('a', 0, 2)).toBe(7)
  })

  test('equal counts are listed by their keys', () => {
    const sketch = top({ k: 4 })
    for (const key of ['d', 'b', 'c', 'a']) sketch.add(key, 0)
    expect(sketch.list(0).map(({ key }) => key)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('1 and "1" are two keys, 0 and -0 are one', () => {
    const sketch = top<SketchKey>()
    for (const key of [1, '1', 1, 0, -0]) sketch.add(key, 0)
    expect(sketch.list(0)).toHaveLength(3)
    expect([sketch.count(1, 0), sketch.count('1', 0), sketch.count(0, 0)]).toEqual([2, 1, 2])
  })
})

describe('time', () => {
  test('a count halves in each half-life, without a call and without a timer', () => {
    const sketch = top()
    sketch.add('a', 0, 8)
    expect([10_000, 20_000, 25_000].map((now) => sketch.count('a', now))).toEqual([
      expect.closeTo(4, 9),
      expect.closeTo(2, 9),
      expect.closeTo(Math.SQRT2, 9),
    ])
    expect(sketch.list(40_000)).toEqual([{ key: 'a', count: expect.closeTo(0.5, 9) }])
    expect(sketch.list(41_000)).toEqual([])
    expect(sketch.total(50_000)).toBeCloseTo(0.25, 9)
    expect(sketch.total(1e9)).toBe(0)
  })

  test('a steady rate settles at rate · half-life / ln 2', () => {
    const sketch = top()
    for (let now = 0; now <= 200_000; now += 100) sketch.add('a', now)
    expect(sketch.count('a', 200_000)).toBeCloseTo(100 / Math.LN2 + 0.5, 1)
  })

  test('after years, and over many changes of the unit, it counts as on the first day', () => {
    const sketch = top()
    for (let hour = 0; hour < 50; hour++) {
      const now = hour * 3_600_000 + 1e12
      expect(sketch.add('a', now, 4)).toBeCloseTo(4, 9)
      expect(sketch.count('a', now + 300_000)).toBeCloseTo(4 * 0.5 ** 30, 15)
    }
    expect(sketch.add('b', 1e15)).toBe(1)
    expect([sketch.count('a', 1e15), sketch.total(1e15)]).toEqual([0, 1])
  })

  test('who was hot once does not hold his place against who is now', () => {
    const sketch = top({ k: 1 })
    sketch.add('old', 0, 1000)
    for (let i = 0; i < 3; i++) sketch.add('new', 100_000)
    expect(sketch.list(100_000)).toEqual([{ key: 'new', count: 3 }])
  })

  test.each([-5000, Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])(
    'a clock that says %f stands still',
    (odd) => {
      const sketch = top()
      sketch.add('a', 1000)
      sketch.add('a', odd)
      expect([sketch.count('a', 1000), sketch.total(odd)]).toEqual([2, 2])
    },
  )
})

test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])(
  'a weight of %f is none, and is counted',
  (weight) => {
    const sketch = top()
    sketch.add('a', 0)
    expect(sketch.add('a', 0, weight)).toBe(0)
    expect([sketch.count('a', 0), sketch.total(0), sketch.dropped]).toEqual([1, 1, 1])
  },
)

test.each([
  [{ k: 0 }, 'k is 0, expected a whole number from 1 to 10000'],
  [{ k: 2.5 }, 'k is 2.5'],
  [{ halfLifeMs: 0 }, 'halfLifeMs is 0, expected milliseconds above 0'],
  [{ width: 100 }, 'width is 100, expected a power of two'],
])('a size of %o is refused', (size, message) => {
  expect(() => top(size)).toThrow(message)
})

test('a text too long to be a key is nobody, and is counted', () => {
  const sketch = top()
  const long = 'x'.repeat(1025)
  expect([sketch.add(long, 0), sketch.count(long, 0), sketch.has(long), sketch.dropped]).toEqual([0, 0, false, 1])
  expect(sketch.add(long.slice(1), 0)).toBe(1)
})

test('the same seed gives the same history; another lays the keys elsewhere', () => {
  const run = (seed: number) => {
    const sketch = top<number>({ k: 5, width: 16, depth: 2 }, seed)
    const next = zipf(1.1, 500, 3)
    for (let i = 0; i < 3000; i++) sketch.add(next(), i)
    return JSON.stringify(sketch.list(3000))
  }
  expect(run(1)).toBe(run(1))
  expect(run(2)).not.toBe(run(1))
})
