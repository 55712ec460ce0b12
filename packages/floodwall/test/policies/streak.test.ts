import fc from 'fast-check'
import { pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Streak } from '../../src/algorithms/retry/streak.ts'

/** Tries again whatever it may, `lent` at most without a success: which of the results were tried again. */
function triedAgain(streak: Streak, results: readonly boolean[], lent: number): boolean[] {
  return results.map((ok) => {
    if (ok) {
      streak.succeeded()
      return false
    }
    streak.fail(0)
    if (!streak.allows(lent)) return false
    streak.grant()
    return true
  })
}

const count = (all: readonly boolean[]) => all.filter(Boolean).length

describe('while nothing succeeds', () => {
  test('the first ones are lent, later ones are a tenth of the failures', () => {
    const again = triedAgain(new Streak(0.1, 10_000), new Array<boolean>(500).fill(false), 10)
    expect(again.slice(0, 10)).toEqual(new Array(10).fill(true))
    expect(again.indexOf(true, 10)).toBe(109)
    expect(count(again)).toBe(50)
  })

  test('of n failures in a row at most max(lent, ratio n) are tried again, for any n', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0.05, 0.1, 0.2, 1),
        fc.integer({ min: 0, max: 30 }),
        fc.array(fc.boolean(), { maxLength: 200 }),
        fc.integer({ min: 1, max: 400 }),
        (ratio, lent, before, n) => {
          const streak = new Streak(ratio, 10_000)
          triedAgain(streak, before, lent)
          const again = triedAgain(streak, new Array<boolean>(n).fill(false), lent)
          expect(count(again)).toBeLessThanOrEqual(Math.max(lent, ratio * n) + (before.length > 0 ? 1 : 0))
        },
      ),
      { seed: 61, numRuns: 500 },
    )
  })
})

test.each([0.02, 0.1, 1 / 3, 0.5])('of a share of %d that fails each is tried again', (share) => {
  const results = Array.from({ length: 3000 }, (_, i) => Math.floor((i + 1) * share) === Math.floor(i * share))
  const again = triedAgain(new Streak(0.1, 10_000), results, 3)
  expect(count(again)).toBe(results.filter((ok) => !ok).length)
})

test('of nine in ten that fail as many are tried again as succeed', () => {
  const results = Array.from({ length: 10_000 }, (_, i) => i % 10 === 0)
  expect(count(triedAgain(new Streak(0.1, 10_000), results, 10)) / 10_000).toBeCloseTo(0.1, 2)
})

test('a failure that is long past is forgotten, and what was not sent is given back', () => {
  const streak = new Streak(0.1, 10_000)
  const ask = (now: number) => {
    streak.fail(now)
    const may = streak.allows(1)
    if (may) streak.grant()
    return may
  }
  expect([ask(0), ask(1), ask(10_001), ask(20_002), ask(20_003)]).toEqual([true, false, false, true, false])
  streak.giveBack()
  streak.giveBack()
  expect([ask(20_004), ask(20_005)]).toEqual([true, false])
})

test.each([
  [9, 0],
  [10, 1],
  [30, 1],
  [49, 1],
])(
  'without a minimum, one failure among %d calls is tried again %d times: less than one cannot be lent',
  async (calls, times) => {
    const runtime = new VirtualRuntime()
    const target = pipeline('target', [retry({ attempts: 2, backoff: { first: 0 }, budget: { minimum: 0 } })], {
      runtime,
    })
    let [down, tries] = [false, 0]
    const call = () => {
      tries++
      if (down) throw new Error('down')
    }
    for (let i = 1; i <= calls; i++) {
      down = i === calls
      target.call(call, { idempotent: true }).catch(() => {})
      await runtime.advanceAsync(10)
    }
    expect(tries - calls).toBe(times)
  },
)

describe('a retry whose target goes down at 100 calls a second', () => {
  const outage = async (minutesBefore: number) => {
    const runtime = new VirtualRuntime()
    let [down, tries] = [false, 0]
    const target = pipeline('target', [retry({ backoff: { first: 0 } })], { runtime })
    const call = () => {
      tries++
      if (down) throw new Error('down')
    }
    const seconds = async (n: number) => {
      const before = tries
      for (let i = 0; i < n * 100; i++) {
        target.call(call, { idempotent: true }).catch(() => {})
        await runtime.advanceAsync(10)
      }
      return tries - before
    }
    await seconds(minutesBefore * 60)
    down = true
    return [await seconds(1), await seconds(4), await seconds(5)]
  }

  test('a fifth more in the first second, and a tenth in the first five, whatever was saved before', async () => {
    const [first = 0, four = 0, next = 0] = await outage(0.5)
    expect(first).toBe(120)
    expect(first + four).toBe(550)
    expect(next).toBeLessThanOrEqual(551)
    expect(next).toBeGreaterThan(545)
  })
})
