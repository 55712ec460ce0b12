import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Ewma, PeakEwma, TimeEwma } from '../../src/algorithms/stats/ewma.ts'
import { agree, DAY_30, MAX_TIMER, NOT_SAMPLES, SEEDED, samplesTo } from './event-log.ts'

const TAU = 10_000

/** Between two samples: often none at all. */
const waits = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 30_000 }))

interface Average {
  readonly value: number
  readonly samples: number
  readonly dropped: number
  record(sample: number, now: number): void
  clear(): void
}

const KINDS: [string, () => Average][] = [
  ['Ewma', () => new Ewma(0.1)],
  ['TimeEwma', () => new TimeEwma(TAU)],
  ['PeakEwma', () => new PeakEwma(TAU)],
]

describe.each(KINDS)('%s', (_, make) => {
  test('is 0 with no samples before the first, which it takes whole', () => {
    const average = make()
    expect([average.value, average.samples, average.dropped]).toEqual([0, 0, 0])
    average.record(250, 1_000)
    expect([average.value, average.samples]).toEqual([250, 1])
  })

  test('C06 latency samples -5, 0, NaN, Infinity: 0 is one, the others are dropped and counted', () => {
    const average = make()
    for (const sample of [-5, 0, NaN, Infinity]) average.record(sample, 1_000)
    expect([average.value, average.samples, average.dropped]).toEqual([0, 1, 3])
    for (const sample of NOT_SAMPLES) average.record(sample, 2_000)
    expect([average.value, average.samples, average.dropped]).toEqual([0, 1, 3 + NOT_SAMPLES.length])
  })

  test('C06 a sample that is none leaves no trace on the next', () => {
    const clean = make()
    const dirty = make()
    for (const [sample, now] of [
      [20, 1_000],
      [40, 5_000],
    ] as const) {
      clean.record(sample, now)
      dirty.record(NaN, now - 500)
      dirty.record(sample, now)
    }
    expect(dirty.value).toBe(clean.value)
  })

  test('stays at a constant, 10,000 times', () => {
    const average = make()
    for (let i = 0; i < 10_000; i++) average.record(33.3, i * 7)
    expect(average.value).toBeCloseTo(33.3, 9)
  })

  test('clear starts again, and keeps the count of what was dropped', () => {
    const average = make()
    average.record(500, 1_000)
    average.record(-1, 1_000)
    average.clear()
    average.clear()
    expect([average.value, average.samples, average.dropped]).toEqual([0, 0, 1])
    average.record(20, 1_000)
    expect(average.value).toBe(20)
  })

  test('is finite and between the smallest and the largest sample', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.oneof(samplesTo(1e6), fc.constantFrom(0, 1e-300, Number.MAX_SAFE_INTEGER)),
            fc.oneof(fc.nat(100_000), fc.constantFrom(0, 1e15, NaN, Infinity, -1)),
          ),
          { minLength: 1, maxLength: 40 },
        ),
        (list) => {
          const average = make()
          for (const [sample, now] of list) average.record(sample, now)
          const samples = list.map(([sample]) => sample)
          const [least, most] = [Math.min(...samples), Math.max(...samples)]
          const rounding = most * 1e-12
          expect(average.value).toBeGreaterThanOrEqual(least - rounding)
          expect(average.value).toBeLessThanOrEqual(most + rounding)
          expect(average.samples).toBe(list.length)
        },
      ),
      SEEDED,
    )
  })
})

describe('Ewma', () => {
  test('the worked example', () => {
    const average = new Ewma(0.1)
    average.record(100)
    average.record(200)
    expect(average.value).toBeCloseTo(110, 12)
  })

  test('alpha 1 is the last sample', () => {
    const average = new Ewma(1)
    for (const sample of [5, 100, 0, 7]) average.record(sample)
    expect(average.value).toBe(7)
  })

  test.each([0, -0.1, 1.01, NaN, Infinity, '0.5'])('refuses alpha %s', (alpha) => {
    expect(() => new Ewma(alpha as number)).toThrow(RangeError)
    expect(() => new Ewma(alpha as number)).toThrow(/^alpha is .*, expected a number above 0 and at most 1$/)
  })

  test('is the sum of all samples by their weights', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }).map((n) => n / 100),
        fc.array(samplesTo(1e6), { minLength: 1, maxLength: 30 }),
        (alpha, samples) => {
          const average = new Ewma(alpha)
          let want = samples[0]!
          for (const sample of samples.slice(1)) want = want * (1 - alpha) + sample * alpha
          for (const sample of samples) average.record(sample)
          expect(Math.abs(average.value - want)).toBeLessThan(1e-6)
        },
      ),
      SEEDED,
    )
  })
})

describe('TimeEwma', () => {
  test('the worked example', () => {
    const average = new TimeEwma(TAU)
    average.record(100, 50_000)
    average.record(200, 60_000)
    expect(average.value).toBeCloseTo(173.1, 1)
  })

  test('samples in one tick count alike, in any order', () => {
    const average = new TimeEwma(TAU)
    for (const sample of [10, 20, 60]) average.record(sample, 5_000)
    expect(average.value).toBeCloseTo(30, 12)
  })

  test('with even spacing it settles on the weight 1 - exp(-interval / tau)', () => {
    const average = new TimeEwma(TAU)
    for (let i = 0; i < 1_000; i++) average.record(100, i * 1_000)
    average.record(200, 1_000_000)
    expect(average.value).toBeCloseTo(100 + 100 * (1 - Math.exp(-0.1)), 9)
  })

  test.each([MAX_TIMER, DAY_30, 1e15])(
    'a gap of %d ms: only the new sample counts, and silence alone changes nothing',
    (gap) => {
      const average = new TimeEwma(TAU)
      average.record(500, 1_000)
      expect(average.value).toBe(500)
      average.record(20, 1_000 + gap)
      expect(average.value).toBe(20)
    },
  )

  test('C06 an hour back: samples count as of the newest time', () => {
    const average = new TimeEwma(TAU)
    average.record(100, 7_200_000)
    for (const now of [3_600_000, NaN, Infinity, -1]) average.record(200, now)
    expect(average.value).toBeCloseTo((100 + 4 * 200) / 5, 12)
    average.record(0, 7_200_000 + TAU)
    const old = 5 * Math.exp(-1)
    expect(average.value).toBeCloseTo((180 * old) / (old + 1), 9)
  })

  test('decayed falls to 37 % each tau, and never rises when the clock goes back', () => {
    const average = new TimeEwma(TAU)
    expect(average.decayed(1e15)).toBe(0)
    average.record(100, 50_000)
    expect(average.decayed(50_000)).toBe(100)
    expect(average.decayed(60_000)).toBeCloseTo(36.79, 2)
    for (const now of [0, NaN, Infinity, -1]) expect(average.decayed(now)).toBe(100)
    expect(average.decayed(1e15)).toBe(0)
    expect(average.value).toBe(100)
  })

  test.each([0, -1, NaN, Infinity, '60'])('refuses tauMs %s', (tau) => {
    expect(() => new TimeEwma(tau as number)).toThrow(RangeError)
    expect(() => new PeakEwma(tau as number)).toThrow(/^tauMs is .*, expected milliseconds/)
  })

  test('is the sum of all samples by their ages', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(samplesTo(1e4), waits), {
          minLength: 1,
          maxLength: 40,
        }),
        (list) => {
          const average = new TimeEwma(TAU)
          let newest = 0
          const events: { sample: number; at: number }[] = []
          for (const [sample, wait] of list) {
            newest += wait
            average.record(sample, newest)
            events.push({ sample, at: newest })
          }
          const weights = events.map(({ at }) => Math.exp(-(newest - at) / TAU))
          const sum = events.reduce((total, { sample }, i) => total + sample * weights[i]!, 0)
          const want = sum / weights.reduce((total, each) => total + each, 0)
          expect(Math.abs(average.value - want)).toBeLessThan(1e-7)
        },
      ),
      SEEDED,
    )
  })
})

describe('PeakEwma', () => {
  test('the worked example', () => {
    const peak = new PeakEwma(TAU)
    peak.record(20, 50_000)
    peak.record(500, 50_000)
    expect(peak.value).toBe(500)
    peak.record(20, 60_000)
    expect(peak.value).toBeCloseTo(196.6, 1)
  })

  test('a lower sample in the same tick takes nothing from the peak', () => {
    const peak = new PeakEwma(TAU)
    peak.record(500, 50_000)
    for (let i = 0; i < 10_000; i++) peak.record(1, 50_000)
    expect(peak.value).toBe(500)
  })

  test('C06 an hour back: a higher sample is believed, a lower one waits', () => {
    const peak = new PeakEwma(TAU)
    peak.record(100, 7_200_000)
    for (const now of [3_600_000, NaN, Infinity, -1]) peak.record(10, now)
    expect(peak.value).toBe(100)
    peak.record(300, 3_600_000)
    expect(peak.value).toBe(300)
    expect(peak.decayed(7_200_000 + TAU)).toBeCloseTo(300 * Math.exp(-1), 9)
  })

  test('a gap of 30 days forgives', () => {
    const peak = new PeakEwma(TAU)
    peak.record(5_000, 1_000)
    expect(peak.decayed(1_000 + DAY_30)).toBe(0)
    peak.record(20, 1_000 + DAY_30)
    expect(peak.value).toBe(20)
  })

  test('is never below the newest sample, and falls no faster than tau allows', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(samplesTo(1e4), waits), {
          minLength: 1,
          maxLength: 40,
        }),
        (list) => {
          const peak = new PeakEwma(TAU)
          let now = 0
          for (const [sample, wait] of list) {
            const before = peak.value
            now += wait
            peak.record(sample, now)
            agree(peak.value >= sample, true)
            if (wait === 0) agree(peak.value, Math.max(before, sample))
            agree(peak.value <= Math.max(before, sample), true)
            agree(peak.value >= before * Math.exp(-wait / TAU) * (1 - 1e-12), true)
          }
        },
      ),
      SEEDED,
    )
  })
})
