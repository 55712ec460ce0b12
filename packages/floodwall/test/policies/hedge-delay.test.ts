import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AnswerTimes } from '../../src/algorithms/retry/answer-times.ts'
import { FixedDelay, PercentileDelay, shareOf } from '../../src/algorithms/retry/hedge-delay.ts'
import { seeded } from '../../src/testing/random.ts'

// How long do answers take, when not all of them were waited for; and how long is the first attempt waited for?

interface Sample {
  readonly ms: number
  readonly answered: boolean
}

/** The estimator as the paper has it: every time of an answer, and who was still out then. */
function naive(samples: readonly Sample[], q: number): number {
  const times = [...new Set(samples.filter((s) => s.answered).map((s) => s.ms))].sort((a, b) => a - b)
  let share = 1
  for (const at of times) {
    const out = samples.filter((s) => s.ms >= at).length
    const ended = samples.filter((s) => s.answered && s.ms === at).length
    share *= 1 - ended / out
    if (share <= 1 - q + 1e-9) return at
  }
  return Math.max(...samples.map((s) => s.ms))
}

function timesOf(samples: readonly Sample[], overMs = 10_000): AnswerTimes {
  const times = new AnswerTimes(overMs)
  for (const { ms, answered } of samples) {
    if (answered) times.answered(ms, 0)
    else times.leftOff(ms, 0)
  }
  return times
}

/** Values that have a bucket of their own, which ends half a microsecond later. */
const END = 0.0005
const exact = fc.constantFrom(0.001, 0.002, 0.005, 0.011, 0.017, 0.023, 0.029, 0.031)

describe('AnswerTimes', () => {
  test('agrees with the estimator as the paper has it', () => {
    const sample = fc.record({ ms: exact, answered: fc.boolean() })
    const q = fc.constantFrom(0.1, 0.5, 0.7, 0.9, 0.95, 0.99)
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 60 }), q, (samples, share) => {
        expect(timesOf(samples).percentile(share, 0)).toBeCloseTo(naive(samples, share) + END, 12)
      }),
      { seed: 5, numRuns: 3000 },
    )
  })

  test('answers after 10, 20, 30, 40 ms and one left off after 25: 30 ms is the 70th percentile', () => {
    const answers = [10, 20, 30, 40].map((ms) => ({ ms, answered: true }))
    const times = timesOf([...answers, { ms: 25, answered: false }])
    for (const [q, ms] of [
      [0.69, 30],
      [0.71, 40],
      [0.39, 20],
    ] as const) {
      expect(times.percentile(q, 0)).toBeGreaterThanOrEqual(ms)
      expect(times.percentile(q, 0)).toBeLessThan(ms * 1.07)
    }
  })

  test('without any left off it is the percentile by nearest rank', () => {
    const samples = Array.from({ length: 20 }, (_, i) => ({ ms: i + 1, answered: true }))
    const times = timesOf(samples)
    expect([0.05, 0.5, 0.95, 0.96].map((q) => Math.floor(times.percentile(q, 0) ?? 0))).toEqual([1, 10, 19, 20])
  })

  test('knows the tail although every attempt in it was overtaken', () => {
    // Exponential, mean 50 ms; nobody waits for longer than 120 ms, and most of the late ones are given up before.
    const random = seeded(3)
    const draw = () => -50 * Math.log(1 - random())
    const samples = Array.from({ length: 20_000 }, () => {
      const [takes, patience] = [draw(), 40 + 80 * random()]
      return takes <= patience ? { ms: takes, answered: true } : { ms: patience, answered: false }
    })
    const right = (q: number) => -50 * Math.log(1 - q)
    const times = timesOf(samples)
    for (const q of [0.5, 0.7, 0.8]) {
      expect((times.percentile(q, 0) ?? 0) / right(q)).toBeGreaterThan(0.98)
      expect((times.percentile(q, 0) ?? 0) / right(q)).toBeLessThan(1.08)
    }
    // What is common instead: those who answered, alone. Their 80th percentile is a third too early.
    const answered = samples.filter((s) => s.answered).map((s) => s.ms)
    const early = answered.sort((a, b) => a - b)[Math.ceil(0.8 * answered.length) - 1] as number
    expect(early / right(0.8)).toBeLessThan(0.75)
  })

  test('where all were left off it is the longest wait that is known', () => {
    const times = timesOf([10, 20, 30].map((ms) => ({ ms, answered: false })))
    expect(times.percentile(0.5, 0)).toBeCloseTo(30.5, 0)
  })

  test('forgets, half a window at a time', () => {
    const times = new AnswerTimes(10_000)
    times.answered(10, 0)
    times.answered(100, 6000)
    expect([times.size(9999), times.size(10_000), times.size(14_999), times.size(15_000)]).toEqual([2, 1, 1, 0])
    expect(times.percentile(0.5, 20_000)).toBeUndefined()
    times.answered(10, 1e12)
    expect(times.size(1e12)).toBe(1)
  })

  test('takes no samples that are none', () => {
    const times = new AnswerTimes(1000)
    for (const ms of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      times.answered(ms, 0)
      times.leftOff(ms, 0)
    }
    expect(times.size(0)).toBe(0)
    times.answered(1e12, 0)
    expect(times.percentile(0.5, 0)).toBeGreaterThan(1e6)
  })
})

describe('PercentileDelay', () => {
  test('is unknown until an answer beyond the percentile is to be expected', () => {
    for (const [share, fewest] of [
      [0.5, 10],
      [0.95, 20],
      [0.99, 100],
    ] as const) {
      const delay = new PercentileDelay(share, 30_000)
      for (let i = 1; i < fewest; i++) delay.record('success', 10, 0)
      expect(delay.ms(0)).toBe(Number.POSITIVE_INFINITY)
      delay.record('success', 10, 0)
      expect(delay.ms(0)).toBeCloseTo(10, 0)
      expect(delay.ms(60_000)).toBe(Number.POSITIVE_INFINITY)
    }
  })

  test('follows the target', () => {
    const delay = new PercentileDelay(0.95, 10_000)
    const feed = (from: number, to: number, ms: number) => {
      for (let at = from; at < to; at += 10) delay.record('success', ms, at)
    }
    feed(0, 10_000, 10)
    expect(delay.ms(10_000)).toBeCloseTo(10, 0)
    feed(10_000, 11_000, 80)
    expect(delay.ms(11_000)).toBeCloseTo(80, -1)
    feed(11_000, 25_000, 10)
    expect(delay.ms(25_000)).toBeCloseTo(10, 0)
  })

  test('failures, timeouts and those who left say how long an answer took at least', () => {
    const delay = new PercentileDelay(0.5, 10_000)
    for (let i = 0; i < 10; i++) delay.record('success', 100, 0)
    for (const verdict of ['failure', 'timeout', 'overload', 'ignored'] as const)
      for (let i = 0; i < 10; i++) delay.record(verdict, 1, 0)
    // Fast failures are no fast answers.
    expect(delay.ms(0)).toBeCloseTo(100, -1)
  })
})

test('a fixed delay is fixed', () => {
  const delay = new FixedDelay(50)
  delay.record()
  expect(delay.ms()).toBe(50)
})

test.each([
  ['p50', 0.5],
  ['p95', 0.95],
  ['p99.9', 0.999],
  ['p1', 0.01],
  ['p0', Number.NaN],
  ['p0.5', Number.NaN],
  ['p100', Number.NaN],
  ['p95.55', Number.NaN],
  ['95', Number.NaN],
  ['P95', Number.NaN],
  ['p', Number.NaN],
  [' p95', Number.NaN],
])('%s is %d', (text, share) => expect(Math.round(shareOf(text) * 1e6) / 1e6).toBe(share))
