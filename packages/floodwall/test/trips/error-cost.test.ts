import { ConfigError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { ErrorCost } from '../../src/algorithms/trips/error-cost.ts'
import { decayPerCall, type ErrorCostOptions } from '../../src/algorithms/trips/error-cost-options.ts'
import { MOST_LANES } from '../../src/algorithms/trips/normal-latency.ts'
import { seeded } from '../../src/testing/random.ts'

/** Good calls of 10 ms, then failures, all at one instant: the number of the failure that opens. */
function failuresToOpen(options: ErrorCostOptions, successes: number, tookMs = 10): number | undefined {
  const trip = new ErrorCost(options)
  for (let i = 0; i < successes; i++) trip.record('success', 10, 0)
  for (let i = 1; i <= 1000; i++) if (trip.record('failure', tookMs, 0)) return i
  return undefined
}

/** Only the short window has a limit that can be met. */
const shortOnly = (short: NonNullable<ErrorCostOptions['short']>): ErrorCostOptions => ({
  short,
  long: { maxErrorRate: 0.999 },
})

describe('worked numbers', () => {
  test.each<[name: string, options: ErrorCostOptions, successes: number, tookMs: number, opensAt: number]>([
    // 51.6 calls in the short sum; 0.3 / 0.7 · 1.02 · 51.6 = 22.6.
    ['full window, failures of normal cost', {}, 2000, 10, 23],
    ['full window, refused at once: cost 1 too', {}, 2000, 0.1, 23],
    ['full window, timeouts: cost 2', {}, 2000, 20, 12],
    ['full window, 50 times as long: still cost 2', {}, 2000, 500, 12],
    ['15 ms: cost 1.5, and 15.1 of them', {}, 2000, 15, 16],
    // The first calls ever fail. However slow: no normal latency is known yet.
    ['no success before: the seventh', {}, 0, 10, 7],
    ['no success before, slow: the seventh', {}, 0, 5000, 7],
    // 10 good calls are worth 9.2, and 0.437 · 9.2 = 4; 20 are worth 16.7, and allow 7.3.
    ['10 good calls: the seventh', {}, 10, 10, 7],
    ['20 good calls: the eighth', {}, 20, 10, 8],
    ['one is enough when told so', shortOnly({ minEvidence: 1 }), 0, 10, 1],
    ['... but not above the limit', shortOnly({ minEvidence: 1 }), 3, 10, 2],
    // The good ones decay: 1 - 0.98063^k > 0.304 gives k > 18.5.
    ['ema, full window', { accumulate: 'ema' }, 2000, 10, 19],
    ['ema, full window, timeouts', { accumulate: 'ema' }, 2000, 20, 11],
    [
      'raw latency: one call of 500 ms costs 50, but seven are asked for',
      { maxFailedLatencyMultiple: Infinity },
      2000,
      500,
      7,
    ],
    [
      'raw latency, one is enough',
      { maxFailedLatencyMultiple: Infinity, ...shortOnly({ minEvidence: 1 }) },
      2000,
      500,
      1,
    ],
  ])('%s', (_, options, successes, tookMs, opensAt) => {
    expect(failuresToOpen(options, successes, tookMs)).toBe(opensAt)
  })

  test('one failed call of two is no outage', () => {
    const trip = new ErrorCost()
    trip.record('success', 10, 0)
    expect(trip.record('timeout', 20, 0)).toBe(false)
    expect(trip.nearness(0)).toBe(1 / 6)
  })

  test('a success after 200 of them has left 2 % of a failure, and forgets a cost below 0.05 before', () => {
    const kept = new ErrorCost({ minErrorCost: 0 })
    const forgot = new ErrorCost()
    for (const trip of [kept, forgot]) {
      trip.record('failure', 10, 0)
      for (let i = 0; i < 200; i++) trip.record('success', 10, 0)
    }
    // Nearer is the long window: 0.77 of it is left there, and 176 good calls allow 0.18 each.
    expect(kept.nearness(0)).toBeCloseTo(0.77 / (0.18 * 176), 4)
    for (let i = 0; i < 2100; i++) forgot.record('success', 10, 0)
    expect(forgot.nearness(0)).toBe(0)
  })
})

describe('what it says', () => {
  test('the nearer window in numbers', () => {
    const trip = new ErrorCost()
    for (let i = 0; i < 2000; i++) trip.record('success', 10, 0)
    expect(trip.explain(0)).toBe(
      'failures cost 0 normal calls of the last 51.6 in the short window (0 %, limit 30 %; 0 failures of at least 7)',
    )
    for (let i = 0; i < 22; i++) trip.record('failure', 10, 0)
    expect(trip.explain(0)).toBe(
      'failures cost 22 normal calls of the last 73.6 in the short window (29.9 %, limit 30 %)',
    )
    expect(trip.value(0)).toBeCloseTo(22 / 73.6, 3)
    expect(trip.limit(0)).toBe(0.3)
    expect(trip.nearness(0)).toBeCloseTo(22 / 22.57, 3)
    expect(trip.record('failure', 10, 0)).toBe(true)
    expect(trip.nearness(0)).toBeGreaterThan(1)
    expect(trip.explain(0)).toBe(
      'failures cost 23 normal calls of the last 74.6 in the short window (30.8 %, limit 30 %)',
    )
    // A minute later 2 % is left in the short window, and 14 % in the long one.
    expect(trip.explain(60_000)).toBe(
      'failures cost 3.3 normal calls of the last 103.8 in the long window (3.1 %, limit 15 %; 3.3 failures of at least 30)',
    )
  })

  test('the long window speaks when it is nearer', () => {
    const trip = new ErrorCost()
    for (let i = 0; i < 5000; i++) trip.record(i % 8 === 0 ? 'failure' : 'success', 10, 0)
    expect(trip.limit(0)).toBe(0.15)
    expect(trip.value(0)).toBeCloseTo(1 / 8, 2)
  })

  test('above 1 is open, and open is above 1, for each of many results', () => {
    for (const options of [{}, { accumulate: 'ema' }, { minErrorCost: 0 }] as ErrorCostOptions[]) {
      const random = seeded(3)
      const trip = new ErrorCost(options)
      for (let i = 0; i < 20_000; i++) {
        const share = Math.floor(i / 500) % 4 === 3 ? 0.6 : 0.1
        const opened = trip.record(random() < share ? 'failure' : 'success', 5 + 20 * random(), i * 10)
        expect(trip.nearness(i * 10) > 1).toBe(opened)
      }
    }
  })

  test('a reset forgets the results and keeps the normal latencies', () => {
    const trip = new ErrorCost({ secondStage: true })
    for (let i = 0; i < 100; i++) trip.record(i % 2 === 0 ? 'success' : 'timeout', 10, 5)
    expect([trip.idle(5), trip.nearness(5) > 1]).toEqual([false, true])
    trip.reset()
    expect([trip.idle(5), trip.nearness(5), trip.value(5), trip.normalLatencyMs()]).toEqual([true, 0, 0, 10])
  })

  test('idle when nothing is left to matter', () => {
    for (const secondStage of [false, true]) {
      const trip = new ErrorCost({ secondStage })
      expect(trip.idle(0)).toBe(true)
      for (let i = 0; i < 10; i++) trip.record('failure', 10, 1000)
      expect(trip.idle(1000)).toBe(false)
      expect(trip.idle(61_000)).toBe(false)
      expect(trip.idle(1_000_000)).toBe(true)
    }
  })
})

describe('normal latencies', () => {
  test('each method has its own, and strangers share one', () => {
    const trip = new ErrorCost()
    trip.record('success', 1, 0, 1)
    trip.record('success', 500, 0, 2)
    trip.record('success', 30, 0, MOST_LANES)
    expect([0, 1, 2, 3, MOST_LANES, 1e9, -1, NaN, Infinity].map((lane) => trip.normalLatencyMs(lane))).toEqual([
      ...[0, 1, 500, 0],
      ...[30, 30, 30, 30, 30],
    ])
  })

  test('a success weighs 1/128; what is no latency weighs nothing', () => {
    const trip = new ErrorCost()
    for (const tookMs of [2, 4, -1, NaN, Infinity, 1e300]) trip.record('success', tookMs, 0)
    expect(trip.normalLatencyMs()).toBe(2 + 2 / 128)
  })
})

describe('options', () => {
  test.each<[ErrorCostOptions, string]>([
    [{ short: { lastCalls: 5 } }, 'errorCost.short.lastCalls'],
    [{ long: { lastCalls: 3000 }, epsilon: 0.1, short: { lastCalls: 3 } }, 'errorCost.short.lastCalls'],
    [{ long: { lastCalls: 5 } }, 'errorCost.long.lastCalls'],
    [{ short: { maxErrorRate: 1 } }, 'errorCost.short.maxErrorRate'],
    [{ short: { maxErrorRate: 0 } }, 'errorCost.short.maxErrorRate'],
    [{ short: { minEvidence: 0 } }, 'errorCost.short.minEvidence'],
    [{ long: { over: 0 } }, 'errorCost.long.over'],
    [{ epsilon: 1 }, 'errorCost.epsilon'],
    [{ maxFailedLatencyMultiple: 0.5 }, 'errorCost.maxFailedLatencyMultiple'],
    [{ maxFailedLatencyMultiple: NaN }, 'errorCost.maxFailedLatencyMultiple'],
    [{ minErrorCost: -1 }, 'errorCost.minErrorCost'],
    [{ accumulate: 'avg' as 'sum' }, 'errorCost.accumulate'],
    [{ secondStage: 1 as unknown as boolean }, 'errorCost.secondStage'],
    [{ window: 5 } as ErrorCostOptions, 'errorCost.window'],
  ])('%o is refused', (options, path) => {
    expect(() => new ErrorCost(options)).toThrow(ConfigError)
    expect(() => new ErrorCost(options)).toThrow(`${path}: `)
  })

  test('6 calls are the shortest window with the default epsilon', () => {
    expect(decayPerCall(0.02, 6)).toBeGreaterThanOrEqual(0.5)
    expect(() => new ErrorCost({ short: { lastCalls: 6 }, long: { lastCalls: 6 } })).not.toThrow()
  })

  test('the decay has the same bits on every Node', () => {
    const hex = (value: number) =>
      Buffer.from(new Float64Array([value]).buffer)
        .reverse()
        .toString('hex')
    expect([200, 3000, 6].map((calls) => hex(decayPerCall(0.02, calls)))).toEqual([
      '3fef61520bbca371',
      '3feff5531479057b',
      '3fe0ac09b9951c0d',
    ])
  })

  test('so has a run of 20,000 calls', () => {
    const random = seeded(11)
    const trip = new ErrorCost({ secondStage: true, accumulate: 'ema' })
    const direct = new ErrorCost()
    let now = 0
    let digest = 0
    for (let i = 0; i < 20_000; i++) {
      now += random() < 0.01 ? 5000 * random() : 3 * random()
      const verdict = random() < 0.12 ? 'failure' : 'success'
      for (const t of [trip, direct]) {
        t.record(verdict, 40 * random(), now, Math.floor(5 * random()))
        digest += t.nearness(now)
      }
    }
    expect(digest).toBe(38746.57450427682)
  })
})
