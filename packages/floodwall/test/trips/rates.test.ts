import fc from 'fast-check'
import type { Verdict } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { Hanging } from '../../src/algorithms/trips/hanging.ts'
import { isSlow, type RateLimits, Rates } from '../../src/algorithms/trips/rates.ts'
import { type Results, ResultsOfCalls, ResultsOfSpan } from '../../src/algorithms/trips/results.ts'
import { type Conditions, type Graded, ratesOpen, within } from './naive-trips.ts'

const NO_LIMIT: RateLimits = {
  failureRate: undefined,
  errorCount: undefined,
  slowRate: undefined,
  slowAfterMs: 100,
  atLeast: 1,
}

const span = (): Results => new ResultsOfSpan(10_000, 10)

function rates(limits: Partial<RateLimits>, results: Results = span()): Rates {
  return new Rates(results, { ...NO_LIMIT, ...limits })
}

/** One letter a call: s fast success, S slow success, f fast failure, F slow failure, t timeout at the limit. */
const CALLS: Readonly<Record<string, readonly [Verdict, number]>> = {
  s: ['success', 5],
  S: ['success', 101],
  f: ['failure', 5],
  F: ['failure', 101],
  t: ['timeout', 100],
}

/** The number of the call that opens, or 0. */
function opensAt(trip: Rates, calls: string): number {
  return [...calls].findIndex((letter) => trip.record(...CALLS[letter]!, 0)) + 1
}

function feed(trip: Rates, calls: string): void {
  for (const letter of calls) trip.record(...CALLS[letter]!, 0)
}

describe('what is slow', () => {
  test.each([
    ['success', [99, 100, 100.001], [false, false, true]],
    ['failure', [99, 100, 100.001], [false, false, true]],
    // No answer within the limit: the answer would have come later.
    ['timeout', [99, 100, 100.001], [false, true, true]],
  ] as const)('%s around a limit of 100 ms', (verdict, took, slow) => {
    expect(took.map((ms) => isSlow(verdict, ms, 100))).toEqual(slow)
  })

  test('a latency that is none is not slow', () => {
    for (const ms of [Number.NaN, -5, Number.NEGATIVE_INFINITY]) expect(isSlow('success', ms, 100)).toBe(false)
  })
})

describe.each([
  ['over a span', () => span()],
  ['over the last calls', () => new ResultsOfCalls(20)],
] as const)('rates %s', (_, window) => {
  test.each([
    // Slow calls alone: failures are none of its business.
    [{ slowRate: 0.5, atLeast: 4 }, 'ssSS', 4],
    [{ slowRate: 0.5, atLeast: 4 }, 'SSSS', 4],
    [{ slowRate: 0.5, atLeast: 4 }, 'SSss', 0], // who answers in time is not cut off
    [{ slowRate: 0.5, atLeast: 4 }, 'SSssS', 5],
    [{ slowRate: 0.5, atLeast: 4 }, 'ffffffff', 0],
    [{ slowRate: 0.5, atLeast: 4 }, 'ffFF', 4],
    [{ slowRate: 0.5, atLeast: 4 }, 'sstt', 4],
    [{ slowRate: 1, atLeast: 3 }, 'SSsSSS', 0],
    [{ slowRate: 0.51, atLeast: 4 }, 'ssSS', 0],
    // A count, whatever the share.
    [{ errorCount: 3, atLeast: 1 }, 'sssssssfff', 10],
    [{ errorCount: 3, atLeast: 1 }, 'SSSSSS', 0],
    [{ errorCount: 3, atLeast: 6 }, 'fffffff', 6],
    [{ errorCount: 1, atLeast: 1 }, 'sf', 2],
    [{ errorCount: 3, atLeast: 1 }, 'ftF', 3],
    // Any of them.
    [{ failureRate: 0.5, slowRate: 0.5, atLeast: 4 }, 'fsSf', 4],
    [{ failureRate: 0.5, slowRate: 0.5, atLeast: 4 }, 'fsSS', 4],
    [{ failureRate: 0.5, slowRate: 0.5, atLeast: 4 }, 'fsSs', 0],
    [{ failureRate: 0.5, errorCount: 2, atLeast: 1 }, 'ssf', 0],
    [{ failureRate: 0.5, errorCount: 2, atLeast: 1 }, 'ssff', 4],
    [{ failureRate: 0.5, errorCount: 9, atLeast: 2 }, 'sf', 2],
    // Each is judged when a call counts towards it: half are slow here, and then one fails fast.
    [{ failureRate: 0.9, slowRate: 0.5, atLeast: 5 }, 'SSSsf', 0],
    [{ failureRate: 0.9, slowRate: 0.5, atLeast: 5 }, 'SSSsF', 5],
  ] as const)('%o, calls %s: opens at %i', (limits, calls, at) => {
    expect(opensAt(rates(limits, window()), calls)).toBe(at)
  })

  test('reset forgets everything', () => {
    const trip = rates({ slowRate: 0.5, errorCount: 2, atLeast: 2 }, window())
    opensAt(trip, 'Sf')
    trip.reset(0)
    expect([trip.idle(0), trip.slowShare(0), opensAt(trip, 'sf'), opensAt(trip, 'f')]).toEqual([true, 0, 0, 1])
  })
})

describe('with calls that hang', () => {
  function watched(limits: Partial<RateLimits>): { trip: Rates; hanging: Hanging } {
    const hanging = new Hanging(100)
    return { hanging, trip: new Rates(span(), { ...NO_LIMIT, slowRate: 0.5, ...limits }, hanging) }
  }

  test('they are calls and slow ones: the worked example, with a limit of 100 ms', () => {
    const { trip, hanging } = watched({ atLeast: 20 })
    for (let i = 0; i < 12; i++) trip.record('success', 5, 0)
    const serials = Array.from({ length: 12 }, (_, i) => hanging.begin(i < 8 ? 0 : 50))
    expect([trip.hangs(112), trip.late(112), trip.slowShare(112)]).toEqual([false, 0, 0])
    expect([trip.hangs(113), trip.late(113), trip.slowShare(113)]).toEqual([false, 8, 0.4])
    expect([trip.hangs(163), trip.late(163), trip.slowShare(163)]).toEqual([true, 12, 0.5])
    // One ends: out of the hanging, into the window, and nothing is counted twice.
    hanging.end(serials[0]!)
    expect(trip.record('success', 163, 163)).toBe(true)
    expect([trip.late(163), trip.slowShare(163)]).toEqual([11, 0.5])
    expect(trip.explain(163)).toBe(
      '12 of 24 calls took longer than 100ms in the last 10s, 11 of them still running (50 %, limit 50 %)',
    )
  })

  test('while some hang, the end of any other call is a time to look', () => {
    const { trip, hanging } = watched({ atLeast: 2 })
    hanging.begin(0)
    expect(trip.record('success', 5, 200)).toBe(true)
  })

  test('none hangs: nothing is judged, however many were slow', () => {
    const { trip } = watched({ atLeast: 2 })
    for (let i = 0; i < 5; i++) trip.record('success', 101, 0)
    expect([trip.hangs(0), trip.record('success', 5, 0)]).toEqual([false, false])
  })

  test('a failure rate is not about them: they have not failed', () => {
    const { trip, hanging } = watched({ failureRate: 0.5, slowRate: 1, atLeast: 1 })
    trip.record('success', 5, 0)
    for (let i = 0; i < 50; i++) hanging.begin(0)
    expect([trip.hangs(200), trip.value(200)]).toEqual([false, 50 / 51])
  })
})

describe('in words and numbers', () => {
  test('each condition says what it has seen, in which window, and its limit', () => {
    const one = rates({ slowRate: 0.5, atLeast: 4 })
    opensAt(one, 'ssSS')
    expect(one.explain(0)).toBe('2 of 4 calls took longer than 100ms in the last 10s (50 %, limit 50 %)')
    expect([one.value(0), one.limit(0), one.nearness(0), one.idle(0)]).toEqual([0.5, 0.5, 1, false])
    const count = rates({ errorCount: 3 }, new ResultsOfCalls(20))
    opensAt(count, 'fsff')
    expect(count.explain(0)).toBe('3 calls failed of the last 20 calls (limit 3)')
    expect([count.value(0), count.limit(0)]).toEqual([3, 3])
  })

  test('all that are met are named; if none is, the nearest', () => {
    const trip = rates({ failureRate: 0.5, slowRate: 0.5, errorCount: 50, atLeast: 4 })
    feed(trip, 'fsss')
    expect(trip.explain(0)).toBe('1 of 4 calls failed in the last 10s (25 %, limit 50 %)')
    expect(trip.nearness(0)).toBe(0.5)
    feed(trip, 'FFF')
    expect(trip.explain(0)).toBe('4 of 7 calls failed in the last 10s (57.1 %, limit 50 %)')
    feed(trip, 'S')
    expect(trip.explain(0)).toBe(
      '4 of 8 calls failed in the last 10s (50 %, limit 50 %) and ' +
        '4 of 8 calls took longer than 100ms in the last 10s (50 %, limit 50 %)',
    )
  })

  test('without calls 0, never NaN', () => {
    const trip = rates({ failureRate: 0.5, slowRate: 0.5, errorCount: 3, atLeast: 2 })
    expect([trip.value(0), trip.nearness(0), trip.slowShare(0), trip.idle(0)]).toEqual([0, 0, 0, true])
  })

  test('nearness counts what is missing of the minimum, too', () => {
    const trip = rates({ errorCount: 2, atLeast: 8 })
    opensAt(trip, 'ffff')
    expect(trip.nearness(0)).toBe(0.5)
  })
})

const limits = fc.record({
  failurePercent: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  slowPercent: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined }),
  errorCount: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
  atLeast: fc.integer({ min: 1, max: 40 }),
})
const call = fc.tuple(
  fc.constantFrom<Verdict>('success', 'failure', 'timeout'),
  fc.constantFrom(0, 99, 100, 101, 5000),
  fc.oneof(fc.constant(0), fc.nat(50), fc.nat(20_000)),
)
const calls = fc.array(call, { minLength: 250, maxLength: 250 })

function limitsOf({ failurePercent, slowPercent, errorCount, atLeast }: Conditions): RateLimits {
  const part = (percent: number | undefined) => (percent === undefined ? undefined : percent / 100)
  return { ...NO_LIMIT, failureRate: part(failurePercent), slowRate: part(slowPercent), errorCount, atLeast }
}

test('10^5 random results over spans: like judging a list', () => {
  let results = 0
  const window = fc.record({ buckets: fc.integer({ min: 1, max: 12 }), widthMs: fc.integer({ min: 1, max: 1000 }) })
  fc.assert(
    fc.property(limits, window, fc.constantFrom(0, 999, 1e12), calls, (of, { buckets, widthMs }, startAt, todo) => {
      const trip = new Rates(new ResultsOfSpan(buckets * widthMs, buckets), limitsOf(of))
      let list: Graded[] = []
      let now = startAt
      for (const [verdict, tookMs, ms] of todo) {
        now += ms
        const graded = {
          failed: verdict !== 'success',
          slow: of.slowPercent !== undefined && isSlow(verdict, tookMs, 100),
        }
        list = within([...list, { ...graded, at: now }], now, buckets, widthMs)
        const open = trip.record(verdict, tookMs, now)
        if (open !== ratesOpen(list, of)) throw new Error(`open is ${open} after ${list.length} at ${now}`)
        if (trip.slowShare(now) !== list.filter(({ slow }) => slow).length / list.length) throw new Error('slow share')
        results++
      }
    }),
    { seed: 42, numRuns: 400 },
  )
  expect(results).toBe(100_000)
})

test('10^5 random results over the last calls: like judging a list', () => {
  let results = 0
  fc.assert(
    fc.property(limits, fc.integer({ min: 1, max: 50 }), calls, (of, lastCalls, todo) => {
      const trip = new Rates(new ResultsOfCalls(lastCalls), limitsOf(of))
      let list: Graded[] = []
      for (const [verdict, tookMs] of todo) {
        const graded = {
          failed: verdict !== 'success',
          slow: of.slowPercent !== undefined && isSlow(verdict, tookMs, 100),
        }
        list = [...list, { ...graded, at: 0 }].slice(-lastCalls)
        const open = trip.record(verdict, tookMs, 0)
        if (open !== ratesOpen(list, of)) throw new Error(`open is ${open} after ${list.length}`)
        results++
      }
    }),
    { seed: 43, numRuns: 400 },
  )
  expect(results).toBe(100_000)
})
