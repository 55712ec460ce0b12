import { describe, expect, test } from 'vitest'
import { ErrorCost } from '../../src/algorithms/trips/error-cost.ts'
import type { ErrorCostOptions } from '../../src/algorithms/trips/error-cost-options.ts'
import { seeded } from '../../src/testing/random.ts'
import { brpc, callsToOpen, errorCost, type Judge, judgeOf, opensAtOneIn, START } from './error-cost-traffic.ts'

const ACCUMULATORS = ['sum', 'ema'] as const

describe('5 % means 5 %', () => {
  const only = (maxErrorRate: number, accumulate: 'sum' | 'ema'): ErrorCostOptions => ({
    accumulate,
    short: { maxErrorRate: 0.999, minEvidence: 1e9 },
    long: { maxErrorRate },
  })

  test.each(
    ACCUMULATORS.flatMap((accumulate) => [
      // One failure in so many calls is tolerated for good; in one less it opens.
      [accumulate, 0.05, 20] as const,
      [accumulate, 0.1, 10] as const,
      [accumulate, 0.2, 5] as const,
      [accumulate, 0.25, 4] as const,
    ]),
  )('%s, limit %d: one in %i passes, refused at once or not, and one more does not', (accumulate, rate, n) => {
    for (const failureTakes of [0.01, 1]) {
      expect(opensAtOneIn(errorCost(only(rate, accumulate)), n, 30_000, failureTakes)).toBe(false)
      expect(opensAtOneIn(errorCost(only(rate, accumulate)), n - 1, 30_000, failureTakes)).toBe(true)
    }
  })

  test('... where the 5 % of brpc are 17 % for failures of normal cost, and more than 50 % for fast ones', () => {
    const long = { shortWindowErrorPercent: 100 }
    expect(opensAtOneIn(warm(brpc(long)), 7, 30_000)).toBe(false)
    expect(opensAtOneIn(warm(brpc(long)), 5, 30_000)).toBe(true)
    expect(opensAtOneIn(warm(brpc(long)), 2, 30_000, 0.1)).toBe(false)
  })

  function warm(judge: Judge): Judge {
    for (let i = 0; i < 3100; i++) judge(false, 10, START)
    return judge
  }
})

describe('a steady share, 10^5 calls from the first on', () => {
  const CALLS = 100_000

  test.each(
    ACCUMULATORS.flatMap((accumulate) =>
      [
        [0.01, 1],
        [0.025, 1],
        [0.05, 1],
        [0.075, 1],
        [0.01, 2],
        [0.025, 2],
        [0.075, 0.1],
      ].map(([share = 0, takes = 0]) => [accumulate, share, takes] as const),
    ),
  )('%s: share %d of failures that take %d of normal never opens', (accumulate, share, failureTakes) => {
    for (const callsPerSecond of [10, 100, 1000]) {
      const traffic = { callsPerSecond, share, failureTakes, seed: callsPerSecond }
      expect([callsPerSecond, callsToOpen(errorCost({ accumulate }), traffic, CALLS)]).toEqual([
        callsPerSecond,
        undefined,
      ])
    }
  })

  test.each(
    ACCUMULATORS.flatMap((accumulate) =>
      [
        // share, takes, opens within
        [0.2, 1, 3000],
        [0.3, 1, 600],
        [0.5, 1, 120],
        [1, 1, 25],
        [0.12, 2, 3000],
        [0.2, 2, 250],
        [0.5, 0.1, 120],
      ].map(([share = 0, takes = 0, within = 0]) => [accumulate, share, takes, within] as const),
    ),
  )('%s: share %d of failures that take %d of normal opens within %i', (accumulate, share, failureTakes, within) => {
    for (const callsPerSecond of [10, 100, 1000]) {
      const traffic = { callsPerSecond, share, failureTakes, seed: callsPerSecond }
      expect(callsToOpen(errorCost({ accumulate }), traffic, CALLS, 3000)).toBeLessThanOrEqual(within)
    }
  })
})

describe('one endpoint, methods of 1 ms and of 500 ms, called in turn', () => {
  const FAST = { lane: 1, normalMs: 1 }
  const SLOW = { lane: 2, normalMs: 500 }
  type Method = typeof FAST

  /** Which call of the two methods opens when the first of them fails in a share of its calls. */
  function opensWhenFailing(judge: Judge, first: Method, second: Method, share: number, takes: number) {
    const random = seeded(9)
    for (let i = -4000; i < 40_000; i++) {
      const method = i % 2 === 0 ? first : second
      const fails = random() < share && i > 0 && method === first
      const tookMs = method.normalMs * (fails ? takes : 0.5 + random())
      if (judge(fails, tookMs, START + i * 2, method.lane) && i > 0) return i
    }
    return undefined
  }

  const rows = [1, 0.6, 0.4, 0.2].flatMap((share) =>
    [0.1, 1, 2].map((takes) => {
      const failing = (judge: () => Judge) => [
        opensWhenFailing(judge(), FAST, SLOW, share, takes),
        opensWhenFailing(judge(), SLOW, FAST, share, takes),
      ]
      return { share, takes, ours: failing(errorCost), theirs: failing(brpc) }
    }),
  )

  test.each(rows)('share $share of one method, $takes of normal: opens at the same call, whichever fails', (row) => {
    const [fast, slow] = row.ours
    expect(fast).toBe(slow)
    // Of all calls half of that share fails: 20 % of one method is 10 %.
    expect(fast !== undefined).toBe(row.share > 0.2 || row.takes === 2)
  })

  test('in brpc the 1 ms method may fail as it likes', () => {
    for (const { theirs } of rows) expect(theirs[0]).toBeUndefined()
    expect(rows.some(({ theirs }) => theirs[1] !== undefined)).toBe(true)
    const shown = (calls: readonly (number | undefined)[]) => calls.map((n) => n ?? 'never').join(' / ')
    const lines = rows.map(
      ({ share, takes, ours, theirs }) =>
        `${share * 100} % of it, ${takes} of normal: floodwall ${shown(ours)}, brpc ${shown(theirs)}`,
    )
    console.log(`calls until it opens when the 1 ms / the 500 ms method fails\n${lines.join('\n')}`)
  })
})

describe('second stage', () => {
  const longOnly = (secondStage: boolean, accumulate: 'sum' | 'ema'): ErrorCostOptions => ({
    secondStage,
    accumulate,
    short: { minEvidence: 1e9 },
  })

  test.each(
    ACCUMULATORS.flatMap((accumulate) => [0.18, 0.25, 0.4, 0.7, 1].map((share) => [accumulate, share] as const)),
  )('%s, share %d: opens within a batch of the direct window', (accumulate, share) => {
    for (let seed = 1; seed <= 20; seed++) {
      for (const callsPerSecond of [20, 200]) {
        const traffic = { callsPerSecond, share, failureTakes: 1.3, seed }
        const direct = callsToOpen(errorCost(longOnly(false, accumulate)), traffic, 30_000, 3000)
        const staged = callsToOpen(errorCost(longOnly(true, accumulate)), traffic, 30_000, 3000)
        expect([seed, callsPerSecond, staged]).toEqual([seed, callsPerSecond, expect.any(Number)])
        // A window that was over the limit for an instant may be under it at the end of the batch; never after the next ones.
        expect(staged! - direct!).toBeGreaterThan(-32)
        expect(staged! - direct!).toBeLessThan(32 + 0.5 * direct!)
      }
    }
  })

  test.each(ACCUMULATORS)('%s: reads the same within 1 %%', (accumulate) => {
    const random = seeded(4)
    const direct = new ErrorCost(longOnly(false, accumulate))
    const staged = new ErrorCost(longOnly(true, accumulate))
    let worst = 0
    for (let i = 1; i <= 32 * 1000; i++) {
      const verdict = random() < 0.1 ? 'failure' : 'success'
      const tookMs = 20 * random()
      for (const trip of [direct, staged]) trip.record(verdict, tookMs, START + i)
      if (i % 32 === 0 && i > 10_000)
        worst = Math.max(worst, Math.abs(staged.value(START + i) / direct.value(START + i) - 1))
    }
    expect(worst).toBeLessThan(0.01)
  })

  test('a batch goes on when 1/64 of the span has passed, and whatever the clock says', () => {
    const judge = judgeOf(new ErrorCost({ ...longOnly(true, 'sum'), long: { minEvidence: 1, over: '64s' } }))
    expect(judge(true, 1, START)).toBe(false)
    expect(judge(true, 1, START + 999)).toBe(false)
    expect(judge(true, 1, START + 1000)).toBe(true)
    expect(judge(true, 1, START)).toBe(false)
    expect(judge(true, 1, NaN)).toBe(true)
  })
})
