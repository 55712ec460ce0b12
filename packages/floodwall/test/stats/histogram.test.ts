import { createHistogram } from 'node:perf_hooks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Histogram } from '../../src/algorithms/stats/histogram.ts'
import { agree, NOT_SAMPLES, SEEDED, samplesTo } from './event-log.ts'

const TOP_MS = 4_294_967.295
const QUANTILES = [0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1]

function histogramOf(samples: readonly number[]): Histogram {
  const histogram = new Histogram()
  for (const sample of samples) histogram.record(sample)
  return histogram
}

/** The documented error: a share of 1/31, or half a microsecond. */
function within(got: number | undefined, want: number): boolean {
  return got !== undefined && Math.abs(got - want) <= Math.max(want / 31, 0.0005) * (1 + 1e-9)
}

/** Latencies of every size, as often below 1 ms as above 1 s; whole microseconds, and the samples at the ends. */
const latency = fc.oneof(
  { weight: 6, arbitrary: samplesTo(TOP_MS) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 100_000 }).map((us) => us / 1000) },
  { weight: 1, arbitrary: fc.constantFrom(0, 0.0004, 0.0005, 0.001, 0.016, 0.032, TOP_MS) },
)

describe('Histogram', () => {
  test('empty: undefined, and null in the snapshot', () => {
    const empty = new Histogram()
    expect([empty.count, empty.mean, empty.min, empty.max, empty.percentile(0.5)]).toEqual([
      0,
      ...Array(4).fill(undefined),
    ])
    expect([empty.countAtOrBelow(1e9), empty.countAtOrBelow(NaN), [...empty.buckets()].length]).toEqual([0, 0, 0])
    const snapshot = empty.snapshot()
    expect(snapshot).toEqual({
      count: 0,
      dropped: 0,
      mean: null,
      min: null,
      max: null,
      p50: null,
      p90: null,
      p95: null,
      p99: null,
      p999: null,
    })
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot)
  })

  test('the worked example: 10 ms reads as 9.9835 between two others', () => {
    const histogram = histogramOf([1, 10, 100])
    expect(histogram.percentile(0.5)).toBeCloseTo(9.9835, 9)
    expect([histogram.min, histogram.max, histogram.mean]).toEqual([1, 100, 37])
  })

  test('one sample is every percentile, exactly', () => {
    for (const sample of [0, 0.0001, 0.3, 17.123456, 3_600_000, 1e12]) {
      const histogram = histogramOf([sample])
      for (const q of QUANTILES) expect(histogram.percentile(q)).toBe(sample)
      expect([histogram.mean, histogram.min, histogram.max]).toEqual([sample, sample, sample])
    }
  })

  test('up to 31 us every microsecond has its own bucket', () => {
    const histogram = new Histogram()
    for (let us = 0; us < 32; us++) histogram.record(us / 1000)
    expect([...histogram.buckets()].map(({ count }) => count)).toEqual(Array(32).fill(1))
    for (let us = 0; us < 32; us++) expect(histogram.percentile((us + 1) / 32)).toBe(us / 1000)
  })

  test('nearest rank, although 0.07 * 100 is above 7', () => {
    const histogram = new Histogram()
    for (let us = 1; us <= 31; us++) histogram.record(us / 1000)
    for (let i = 0; i < 69; i++) histogram.record(1000)
    expect(histogram.percentile(0.07)).toBe(0.007)
    expect(histogram.percentile(0.0701)).toBe(0.008)
    expect(histogram.percentile(0.29)).toBe(0.029)
  })

  test('past the top, samples are counted there, and max and mean keep them', () => {
    const histogram = histogramOf([1, TOP_MS, TOP_MS + 1, 1e12, Number.MAX_SAFE_INTEGER])
    expect(histogram.count).toBe(5)
    expect(histogram.max).toBe(Number.MAX_SAFE_INTEGER)
    expect([...histogram.buckets()].map(({ count }) => count)).toEqual([1, 4])
    expect(within(histogram.percentile(0.5), TOP_MS)).toBe(true)
    expect(histogram.percentile(1)).toBe(Number.MAX_SAFE_INTEGER)
    expect(histogram.countAtOrBelow(Infinity)).toBe(5)
  })

  test('C06 latency samples -5, 0, NaN, Infinity: 0 is one, the others are dropped and counted', () => {
    const histogram = histogramOf([-5, 0, NaN, Infinity])
    expect([histogram.count, histogram.mean, histogram.dropped]).toEqual([1, 0, 3])
    for (const sample of NOT_SAMPLES) histogram.record(sample)
    expect(histogram.snapshot()).toMatchObject({ count: 1, dropped: 3 + NOT_SAMPLES.length, mean: 0, max: 0, p99: 0 })
  })

  test('every sample lies in its bucket, and the buckets follow each other without a gap', () => {
    const edges: number[] = []
    for (let power = 1; power <= 32; power++) for (let us = -2; us <= 2; us++) edges.push(2 ** power + us)
    let last = -1
    for (const us of edges.filter((each) => each >= 0 && each < 2 ** 32).toSorted((a, b) => a - b)) {
      const [bucket] = histogramOf([us / 1000]).buckets()
      expect(bucket!.fromMs).toBeLessThanOrEqual(us / 1000)
      expect(bucket!.toMs).toBeGreaterThan(us / 1000)
      expect(bucket!.fromMs).toBeGreaterThanOrEqual(last)
      last = bucket!.fromMs
    }
    const all = new Histogram()
    for (let us = 0; us < 2 ** 32; us += Math.max(1, Math.floor(us / 64))) all.record(us / 1000)
    all.record(TOP_MS)
    const buckets = [...all.buckets()]
    for (let i = 1; i < buckets.length; i++) expect(buckets[i]!.fromMs).toBe(buckets[i - 1]!.toMs)
    expect(buckets.length).toBe(464)
    expect(buckets.reduce((sum, { count }) => sum + count, 0)).toBe(all.count)
  })

  test('a bucket counts past 32 bits', () => {
    const histogram = histogramOf([1, 2])
    for (let doubled = 0; doubled < 33; doubled++) histogram.merge(histogram)
    histogram.record(1)
    expect(histogram.count).toBe(2 ** 34 + 1)
    expect([...histogram.buckets()].map(({ count }) => count)).toEqual([2 ** 33 + 1, 2 ** 33])
    expect(histogram.percentile(0.5)).toBeCloseTo(1, 1)
    expect(histogram.countAtOrBelow(1.5)).toBe(2 ** 33 + 1)
  })

  test('clear forgets every sample and keeps the count of what was dropped', () => {
    const histogram = histogramOf([1, 2, -1])
    histogram.clear()
    histogram.clear()
    expect(histogram.snapshot()).toEqual({ ...new Histogram().snapshot(), dropped: 1 })
    histogram.record(5)
    expect([histogram.min, histogram.max, histogram.count]).toEqual([5, 5, 1])
  })

  test.each([-0.01, 1.01, 50, NaN, '0.5'])('refuses the percentile %s, also when empty', (q) => {
    expect(() => new Histogram().percentile(q as number)).toThrow(RangeError)
    expect(() => new Histogram().percentile(q as number)).toThrow(/^q is .*, expected a number from 0 to 1$/)
  })

  test('a mean never leaves the range of its samples by rounding', () => {
    expect(histogramOf(Array(10).fill(0.1)).mean).toBe(0.1)
    expect(histogramOf(Array(3).fill(0.1)).mean).toBe(0.1)
  })
})

describe('Histogram against a sorted list', () => {
  const lists = fc.array(latency, { minLength: 1, maxLength: 120 })

  test('percentiles, mean, min, max and count', () => {
    fc.assert(
      fc.property(lists, (samples) => {
        const histogram = histogramOf(samples)
        const sorted = samples.toSorted((a, b) => a - b)
        const count = sorted.length
        expect([histogram.count, histogram.min, histogram.max]).toEqual([count, sorted[0], sorted[count - 1]])
        const mean = samples.reduce((sum, each) => sum + each, 0) / count
        expect(Math.abs(histogram.mean! - mean)).toBeLessThanOrEqual(mean * 1e-12)
        for (let rank = 1; rank <= count; rank++) {
          agree(within(histogram.percentile(rank / count), sorted[rank - 1]!), true)
        }
        const asked = QUANTILES.map((q) => histogram.percentile(q)!)
        expect(asked).toEqual(asked.toSorted((a, b) => a - b))
        expect([asked[0], asked[asked.length - 1]]).toEqual([histogram.min, histogram.max])
      }),
      SEEDED,
    )
  })

  test('cumulative counts rise, stay near the truth and agree with the percentiles', () => {
    fc.assert(
      fc.property(lists, fc.array(latency, { minLength: 1, maxLength: 10 }), (samples, others) => {
        const histogram = histogramOf(samples)
        const count = samples.length
        let last = 0
        for (const bound of [...others, ...samples.slice(0, 20)].toSorted((a, b) => a - b)) {
          const got = histogram.countAtOrBelow(bound)
          agree(got >= last, true)
          last = got
          const slack = Math.max(bound / 15, 0.001)
          agree(got >= samples.filter((each) => each <= bound - slack).length, true)
          agree(got <= samples.filter((each) => each <= bound + slack).length, true)
          for (let rank = 1; rank <= count; rank++) agree(histogram.percentile(rank / count)! <= bound, rank <= got)
        }
        expect(histogram.countAtOrBelow(histogram.max!)).toBe(count)
      }),
      SEEDED,
    )
  })

  test('merging is the same as recording both', () => {
    fc.assert(
      fc.property(fc.array(latency, { maxLength: 60 }), fc.array(latency, { maxLength: 60 }), (left, right) => {
        const merged = histogramOf([...left, -1])
        const other = histogramOf([...right, NaN])
        merged.merge(other)
        const both = histogramOf([...left, ...right, -1, NaN])
        expect([...merged.buckets()]).toEqual([...both.buckets()])
        const { mean, ...rest } = merged.snapshot()
        const { mean: want, ...others } = both.snapshot()
        expect(rest).toEqual(others)
        expect(mean ?? 0).toBeCloseTo(want ?? 0, 6)
        expect(other.snapshot()).toEqual(histogramOf([...right, NaN]).snapshot())
      }),
      SEEDED,
    )
  })

  test('100,000 latencies, with the histogram of Node as a second oracle', () => {
    const histogram = new Histogram()
    const oracle = createHistogram({ lowest: 1, highest: 4_294_967_295, figures: 4 })
    let state = 20261130
    for (let i = 0; i < 100_000; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      // A log-uniform body from 50 us to 50 ms, and a tail of 2 % that is 40 times as long.
      const us = Math.round(50 * Math.exp((state / 2 ** 32) * Math.log(1000)) * (i % 50 === 0 ? 40 : 1))
      histogram.record(us / 1000)
      oracle.record(us)
    }
    for (const q of QUANTILES.slice(1)) {
      expect(Math.abs(histogram.percentile(q)! / (oracle.percentile(q * 100) / 1000) - 1)).toBeLessThan(1 / 31 + 1e-3)
    }
    expect(histogram.mean! / (oracle.mean / 1000)).toBeCloseTo(1, 3)
    const { p50, p90, p95, p99, p999 } = histogram.snapshot()
    expect([p50, p90, p95, p99, p999]).toEqual([0.5, 0.9, 0.95, 0.99, 0.999].map((q) => histogram.percentile(q)))
  })
})
