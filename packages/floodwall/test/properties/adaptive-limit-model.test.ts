import fc from 'fast-check'
import { AdaptiveLimit, type AdaptiveLimitOptions, type Permit, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Baseline } from '../../src/algorithms/estimators/baseline.ts'
import { Round } from '../../src/algorithms/estimators/round.ts'
import { VERDICTS } from '../support/asks.ts'

const ESTIMATORS = ['gradient2', 'knee', 'vegas', 'aimd', 'fixed'] as const

/** Times as they come, and as they must not: 0, the least and the largest double, no number at all. */
const tookMs = fc.oneof(
  fc.double({ min: 0, max: 1000, noNaN: true }),
  fc.constantFrom(0, 5e-324, 1e-9, 5000, 1e12, Number.MAX_VALUE, Number.POSITIVE_INFINITY, Number.NaN, -1),
)

const step = fc.record({
  do: fc.constantFrom('ask', 'ask', 'ask', 'end', 'end', 'cancel', 'twice', 'wait', 'reload'),
  which: fc.nat(1000),
  verdict: fc.constantFrom<Verdict>(...VERDICTS, 'success', 'success'),
  tookMs,
  waitMs: fc.double({ min: 0, max: 2000, noNaN: true }),
})

const options = fc
  .record({
    estimator: fc.constantFrom(...ESTIMATORS),
    initial: fc.integer({ min: 1, max: 40 }),
    min: fc.integer({ min: 1, max: 20 }),
    more: fc.integer({ min: 0, max: 60 }),
    backoff: fc.double({ min: 0.1, max: 1, noNaN: true }),
  })
  .map(({ more, ...given }): AdaptiveLimitOptions => ({ ...given, max: given.min + more }))

describe('any interleaving of any calls', () => {
  test('the limit is whole and within its bounds, nobody passes above it, and every slot comes back', () => {
    fc.assert(
      fc.property(options, options, fc.array(step, { minLength: 1, maxLength: 400 }), (given, other, steps) => {
        const gate = new AdaptiveLimit(given, new VirtualRuntime().env('shop/adaptiveLimit'))
        let bounds = given as { min: number; max: number }
        let now = 0
        const inside: Permit[] = []
        const ended: Permit[] = []
        for (const { do: what, which, verdict, tookMs, waitMs } of steps) {
          if (what === 'ask') {
            const before = inside.length
            const answer = gate.tryAcquire()
            expect(answer.ok).toBe(before < gate.limit)
            if (answer.ok) inside.push(answer)
          } else if (what === 'wait') now += waitMs
          else if (what === 'twice') ended[which % Math.max(1, ended.length)]?.settle(verdict, tookMs, now)
          else if (what === 'reload') {
            if (which > 900) {
              gate.reconfigure({ ...(gate as never as { settings: object }).settings, ...other } as never)
              bounds = other as { min: number; max: number }
            }
          } else {
            const [permit] = inside.splice(which % Math.max(1, inside.length), 1)
            if (permit === undefined) continue
            if (what === 'end') permit.settle(verdict, tookMs, now)
            else permit.cancel(now)
            ended.push(permit)
          }
          expect(Number.isInteger(gate.limit)).toBe(true)
          expect(gate.limit).toBeGreaterThanOrEqual(bounds.min)
          expect(gate.limit).toBeLessThanOrEqual(bounds.max)
          expect(gate.available).toBe(gate.limit - inside.length)
        }
        for (const permit of inside) permit.settle('success', 1, now)
        expect(gate.available).toBe(gate.limit)
        for (const value of Object.values(gate.inspect(now)['estimator'] as object))
          expect(typeof value !== 'number' || Number.isFinite(value)).toBe(true)
      }),
      { seed: 11, numRuns: 600 },
    )
  })

  test('100,000 random steps leave nothing in flight, for each estimator', () => {
    for (const estimator of ESTIMATORS) {
      const world = new VirtualRuntime({ seed: 5 })
      const gate = new AdaptiveLimit({ estimator, max: 50 }, world.env('x'))
      const inside: Permit[] = []
      for (let i = 0; i < 100_000; i++) {
        const dice = world.random()
        if (dice < 0.5) {
          const answer = gate.tryAcquire()
          if (answer.ok && inside.push(answer) > gate.limit) expect.unreachable(`${inside.length} inside`)
        } else if (inside.length > 0) {
          const [permit] = inside.splice(Math.floor(world.random() * inside.length), 1)
          if (dice < 0.6) permit?.cancel(i)
          else permit?.settle(VERDICTS[Math.floor(world.random() * 5)] as Verdict, world.random() * 100, i)
        }
      }
      for (const permit of inside) permit.cancel(100_000)
      expect(gate.available).toBe(gate.limit)
    }
  })
})

/** What a round is, by its definition: all its samples kept, everything counted anew at each. */
class NaiveRound {
  ended = 0
  last = { meanMs: 0, calls: 0, peak: 0, dropped: 0 }
  private all: { tookMs: number; inFlight: number; ok: boolean }[] = []
  private from = -1
  private span = 0

  add(tookMs: number, inFlight: number, verdict: Verdict, limit: number, now: number): boolean {
    if (this.from < 0) this.from = now
    this.all.push({ tookMs: Math.max(0.001, tookMs), inFlight, ok: verdict === 'success' })
    const { length } = this.all
    const good = this.all.filter(({ ok }) => ok)
    const enough = length > good.length || length >= Math.min(20, Math.max(8, limit * 2))
    if (this.ended === 0 ? length < 4 : now - this.from < this.span || !enough) return false
    const sum = (calls: typeof good) => calls.reduce((ms, call) => ms + call.tookMs, 0)
    this.last = {
      meanMs: good.length === 0 ? 0 : sum(good) / good.length,
      calls: good.length,
      peak: Math.max(...this.all.map((call) => call.inFlight)),
      dropped: (length - good.length) / length,
    }
    this.span = Math.min(10_000, Math.max(50, (2 * sum(this.all)) / length))
    this.from = now
    this.all = []
    this.ended++
    return true
  }
}

test('rounds are what their definition says', () => {
  const call = fc.tuple(
    fc.double({ min: 0, max: 500, noNaN: true }),
    fc.integer({ min: 1, max: 50 }),
    fc.constantFrom<Verdict>('success', 'success', 'success', 'success', 'timeout'),
    fc.integer({ min: 1, max: 30 }),
    fc.double({ min: 0, max: 100, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.array(call, { maxLength: 300 }), (calls) => {
      const [round, naive] = [new Round(), new NaiveRound()]
      let now = 0
      for (const [took, inFlight, verdict, limit, waitMs] of calls) {
        now += waitMs
        expect(round.add(took, inFlight, verdict, limit, now)).toBe(naive.add(took, inFlight, verdict, limit, now))
        const { meanMs, calls, peak, dropped } = round
        expect({ calls, peak, dropped }).toEqual({ ...naive.last, meanMs: undefined })
        expect(meanMs).toBeCloseTo(naive.last.meanMs, 9)
      }
    }),
    { seed: 12, numRuns: 300 },
  )
})

describe('the baseline', () => {
  test('is above 0, at most twice its least when the limit is not in use, and at most what calls took', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.001, max: 1000, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (means) => {
          const baseline = new Baseline()
          let least = Number.POSITIVE_INFINITY
          for (const mean of means) {
            baseline.learn(mean, 20, 20, false)
            least = Math.min(least, baseline.valueMs)
            expect(baseline.valueMs).toBeGreaterThan(0)
            expect(baseline.valueMs).toBeLessThanOrEqual(Math.min(Math.max(...means), 2 * least + 1e-9))
          }
        },
      ),
      { seed: 13, numRuns: 300 },
    )
  })

  test('under load at one limit it never rises, whatever calls take', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.001, max: 1000, noNaN: true }), { minLength: 2, maxLength: 200 }),
        (means) => {
          const baseline = new Baseline()
          let before = Number.POSITIVE_INFINITY
          for (const mean of means) {
            baseline.learn(mean, 20, 30, true)
            expect(baseline.valueMs).toBeLessThanOrEqual(before)
            before = baseline.valueMs
          }
          expect(baseline.raised).toBe(0)
        },
      ),
      { seed: 14, numRuns: 300 },
    )
  })

  test('a queue that shrinks with the limit is none of it; calls that take as long at half of the limit are', () => {
    const at = (limit: number, ms: number, baseline: Baseline) => {
      for (let i = 0; i < 8; i++) baseline.learn(ms, 20, limit, true)
    }
    const queued = new Baseline()
    at(10, 20, queued)
    for (const limit of [80, 70, 60, 50, 40, 30, 20, 15, 12]) at(limit, (20 * limit) / 10, queued)
    expect([queued.valueMs, queued.raised]).toEqual([20, 0])
    const slowed = new Baseline()
    at(10, 20, slowed)
    for (const limit of [38, 34, 30, 26, 22, 19]) at(limit, 60 * Math.max(1, limit / 32), slowed)
    expect([slowed.valueMs, slowed.raised]).toEqual([60, 1])
  })
})
