import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ErrorCost } from '../../src/algorithms/trips/error-cost.ts'
import { START } from './error-cost-traffic.ts'
import { type CostSettings, NaiveErrorCost } from './naive-error-cost.ts'

// Against a reference that remembers every call, and weighs each of them anew for every answer.

interface Step {
  readonly failed: boolean
  readonly tookMs: number
  readonly waitMs: number
  readonly lane: number
}

const step: fc.Arbitrary<Step> = fc.record({
  failed: fc.oneof(fc.constant(false), fc.boolean()),
  tookMs: fc.double({ min: 0.001, max: 1000, noNaN: true }),
  waitMs: fc.oneof(
    { weight: 6, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 50 }) },
    { weight: 2, arbitrary: fc.double({ min: 0, max: 5000, noNaN: true }) },
    { weight: 1, arbitrary: fc.integer({ min: -20, max: -1 }) },
    { weight: 1, arbitrary: fc.constantFrom(-3_600_000, 200_000) },
  ),
  lane: fc.constantFrom(0, 0, 0, 1, 7),
})

const windowOf = (lastCalls: number): fc.Arbitrary<CostSettings> =>
  fc.record({
    lastCalls: fc.integer({ min: 20, max: lastCalls }),
    over: fc.constantFrom(1000, 60_000),
    maxErrorRate: fc.constantFrom(0.05, 0.3, 0.5, 0.9),
    minEvidence: fc.constantFrom(1, 2, 6),
  })

const options = fc.record({
  short: windowOf(100),
  long: windowOf(1000),
  epsilon: fc.constantFrom(0.02, 0.1),
  maxFailedLatencyMultiple: fc.constantFrom(1, 2, Infinity),
  minErrorCost: fc.constantFrom(0, 0.05, 0.5),
  accumulate: fc.constantFrom('sum' as const, 'ema' as const),
  secondStage: fc.boolean(),
})

test('10^5 random results in all: like weighing every call of the past', () => {
  let records = 0
  fc.assert(
    fc.property(options, fc.array(step, { minLength: 40, maxLength: 100, size: 'max' }), (settings, steps) => {
      const trip = new ErrorCost(settings)
      const naive = new NaiveErrorCost(settings)
      let now = START
      for (const { failed, tookMs, waitMs, lane } of steps) {
        now += waitMs
        records++
        naive.record(failed, tookMs, now, lane)
        const opened = trip.record(failed ? 'failure' : 'success', tookMs, now, lane)
        // Where the two differ in the last bits only, the verdict may differ too.
        if (Math.abs(naive.judged - 1) > 1e-9) expect(opened).toBe(naive.judged > 1)
        const nearness = naive.nearness(now)
        expect(Math.abs(trip.nearness(now) - nearness)).toBeLessThanOrEqual(1e-9 * nearness)
      }
    }),
    { numRuns: 1600, seed: 20, endOnFailure: true },
  )
  expect(records).toBeGreaterThanOrEqual(100_000)
})
