import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Demand } from '../../src/algorithms/admission/demand.ts'

test('the rate is right from the first seconds on, whatever it is', () => {
  for (const perSecond of [1, 50, 800]) {
    const demand = new Demand(0)
    for (let now = 0; now < 40_000; now += 1000 / perSecond) {
      demand.came(now, 1)
      if (now > 5000) expect(demand.perSecond(now) / perSecond).toBeGreaterThan(0.9)
    }
    expect(demand.perSecond(40_000)).toBeCloseTo(perSecond, perSecond < 10 ? 0 : -1)
  }
})

test('a call that stands for ten counts as ten, and what has ended is forgotten', () => {
  const demand = new Demand(0)
  for (let now = 0; now < 30_000; now += 100) demand.came(now, 10)
  expect(demand.perSecond(30_000)).toBeGreaterThan(95)
  expect(demand.perSecond(30_000)).toBeLessThan(105)
  expect(demand.perSecond(80_000)).toBeLessThan(1)
})

test('finite and not below zero, whatever the clock does', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { maxLength: 50 }), (times) => {
      const demand = new Demand(0)
      for (const at of times) demand.came(at, 1)
      for (const at of [...times, 0, 1e6]) {
        const rate = demand.perSecond(at)
        expect(rate).toBeGreaterThanOrEqual(0)
        expect(rate).toBeLessThan(Number.POSITIVE_INFINITY)
      }
    }),
    { seed: 7 },
  )
})
