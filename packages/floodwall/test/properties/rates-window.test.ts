import fc from 'fast-check'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import {
  ALGORITHMS,
  type Algorithm,
  BUCKETS,
  excess,
  type Grant,
  rateBy,
  type Wanted,
  worst,
} from '../support/rates.ts'

const wanted = fc.record({
  rate: fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.double({ min: 1e-6, max: 10, noNaN: true }), fc.nat(8)),
  per: fc.constantFrom(1, 100, 1000, 60_000, 2_592_000_000),
  burst: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.double({ min: 0, max: 5, noNaN: true })),
})

const startAt = fc.constantFrom(0, 1, 1e9, 1e12)

/** Of a wait and a cost, skewed to the small ones. */
const offer = fc.tuple(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 5, noNaN: true }), fc.nat(100_000)),
  fc.oneof(fc.constant(1), fc.nat(8), fc.double({ min: 0.001, max: 3, noNaN: true })),
)

const offers = fc.array(offer, { maxLength: 100, size: 'max' })

/** At 10^12 ms a double has steps of 0.1 µs: so much of the rate may be off. */
const grain = ({ rate, per }: Wanted, start: number): number => 1e-6 + (rate / (per ?? 1000)) * start * 2 ** -51

/**
 * What of its rate a limit grants at least, to twice as many that come at random: one by one, a turn that nobody took is lost; two counters of a
 * window of one grant every other one; from cold it is a third, and the longest of these lives is its warm-up.
 */
const LEAST: Partial<Record<Algorithm, number>> = {
  pacer: 0.7,
  slidingWindow: 0.49,
  slidingLog: 0.65,
  fixedWindow: 0.8,
  warmUp: 0.58,
}

describe.each(ALGORITHMS)('%s: no window of any length grants more than it says', (algorithm) => {
  test('random times and costs', () => {
    let granted = 0
    fc.assert(
      fc.property(wanted, startAt, offers, (of, start, life) => {
        const rate = rateBy(algorithm, of, start)
        const grants: Grant[] = []
        let now = start
        for (const [wait, cost] of life) {
          now += wait
          if (rate.take(cost, now) === 0 && cost > 0) grants.push({ at: now, cost })
        }
        granted += grants.length
        expect(excess(grants, (t) => worst(algorithm, of, t))).toBeLessThanOrEqual(grain(of, start))
      }),
      { seed: 81, numRuns: 400 },
    )
    expect(granted).toBeGreaterThan(4000)
  })

  test('a clock that steps back, and costs that are given back at once', () => {
    const life = fc.array(fc.tuple(offer, fc.boolean(), fc.nat(300)), { maxLength: 100, size: 'max' })
    fc.assert(
      fc.property(wanted, life, (of, steps) => {
        const rate = rateBy(algorithm, of, 1e6)
        const grants: Grant[] = []
        let time = 1e6
        // The newest time that the rate was told: only that counts.
        let newest = time
        for (const [[wait, cost], back, by] of steps) {
          time += wait
          newest = Math.max(newest, time - by)
          if (rate.take(cost, time - by) !== 0 || cost === 0) continue
          if (back) rate.give(cost, newest, time - by)
          else grants.push({ at: newest, cost })
        }
        expect(excess(grants, (t) => worst(algorithm, of, t))).toBeLessThanOrEqual(grain(of, 1e6))
      }),
      { seed: 82, numRuns: 200 },
    )
  })

  test('costs that are given back late, by whoever has waited somewhere else', () => {
    const life = fc.array(fc.tuple(offer, fc.nat(6), fc.boolean()), { maxLength: 100, size: 'max' })
    let late = 0
    fc.assert(
      fc.property(wanted, startAt, life, (of, start, steps) => {
        const rate = rateBy(algorithm, of, start)
        const out: Grant[] = []
        const grants: Grant[] = []
        let now = start
        for (const [[wait, cost], leaver, back] of steps) {
          now += wait
          const [grant] = back ? out.splice(leaver, 1) : []
          if (grant !== undefined) {
            if (grant.at < now) late++
            rate.give(grant.cost, grant.at, now)
          }
          if (rate.take(cost, now) === 0 && cost > 0) out.unshift({ at: now, cost })
          grants.push(...out.splice(7))
        }
        const all = [...grants, ...out].sort((a, b) => a.at - b.at)
        expect(excess(all, (t) => worst(algorithm, of, t))).toBeLessThanOrEqual(grain(of, start))
      }),
      { seed: 88, numRuns: 150 },
    )
    expect(late).toBeGreaterThan(300)
  })

  test('what is reserved, at the times that are promised; these never fall', () => {
    fc.assert(
      fc.property(wanted, startAt, offers, fc.nat(10_000), (of, start, life, atMostMs) => {
        const rate = rateBy(algorithm, of, start)
        const grants: Grant[] = []
        let now = start
        for (const [wait, cost] of life) {
          now += wait
          const delayMs = rate.reserve(cost, now, atMostMs)
          if (delayMs > atMostMs || cost === 0) continue
          const last = grants.at(-1)
          // Neither before the one who came before, nor before he came.
          expect(now + delayMs).toBeGreaterThanOrEqual((last?.at ?? start) - 1e-3)
          grants.push({ at: Math.max(now + delayMs, last?.at ?? start), cost })
        }
        // Above its burst a pacer promises what takes its time; that is counted as what it is.
        const most = algorithm === 'pacer' ? Math.max(0, ...grants.map(({ cost }) => cost)) : 0
        const over = Math.max(0, most - (of.burst ?? 0))
        expect(excess(grants, (t) => worst(algorithm, of, t)) - over).toBeLessThanOrEqual(grain(of, start) + 1e-3)
      }),
      { seed: 83, numRuns: 200 },
    )
  })

  test('who waits as long as he is told is taken, and who does not is not', () => {
    let waited = 0
    fc.assert(
      fc.property(wanted, offers, (of, life) => {
        const rate = rateBy(algorithm, of, 1000)
        let now = 1000
        for (const [wait, cost] of life) {
          now += wait
          const waitMs = rate.take(cost, now)
          expect(waitMs).toBeGreaterThanOrEqual(0)
          if (waitMs === 0) continue
          // A refusal takes nothing and tells the same again.
          expect(rate.take(cost, now)).toBe(waitMs)
          if (waitMs === Number.POSITIVE_INFINITY || waitMs < 1e-3) continue
          waited++
          const early = now + waitMs * 0.999 - 1e-5
          if (early > now) expect(rate.take(cost, early)).toBeGreaterThan(0)
          now += waitMs * (1 + 1e-9) + 1e-6
          expect(rate.take(cost, now)).toBe(0)
        }
      }),
      { seed: 84, numRuns: 200 },
    )
    expect(waited).toBeGreaterThan(100)
  })

  test('to give back what was just taken is never to have taken it', () => {
    fc.assert(
      fc.property(wanted, offers, (of, life) => {
        const [rate, other] = [rateBy(algorithm, of), rateBy(algorithm, of)]
        let now = 0
        for (const [wait, cost] of life) {
          now += wait
          const before = rate.left(now)
          if (rate.take(cost, now) === 0) {
            rate.give(cost, now, now)
            // On its last steps to warm it keeps what it has gained, and asks for a little more.
            if (algorithm === 'warmUp') expect(rate.left(now)).toBeLessThanOrEqual(before + 1e-5)
            else expect(rate.left(now)).toBeCloseTo(before, 5)
            rate.take(cost, now)
          }
          if (algorithm === 'warmUp') continue
          other.take(cost, now)
          expect(rate.left(now)).toBeCloseTo(other.left(now), 5)
        }
      }),
      { seed: 85, numRuns: 100 },
    )
  })

  test('it is no limit below its rate: 20,000 offers of twice as much', () => {
    const random = seeded(7)
    for (const [wish, per] of [
      [1, 1000],
      [3, 1000],
      [999, 1000],
      [0.2, 1000],
      [5000, 60_000],
    ] as const) {
      const rate = rateBy(algorithm, { rate: wish, per })
      let now = 0
      let granted = 0
      for (let i = 0; i < 20_000; i++) {
        now += (random() * per) / wish
        if (rate.take(1, now) === 0) granted++
      }
      expect((granted * per) / (wish * now)).toBeGreaterThan(LEAST[algorithm] ?? (wish < 5 ? 0.7 : 0.97))
    }
  })
})

test.each(BUCKETS.filter((name) => name !== 'warmUp'))('%s answers as a token bucket does', (algorithm: Algorithm) => {
  fc.assert(
    fc.property(wanted, startAt, offers, (of, start, life) => {
      const [rate, bucket] = [rateBy(algorithm, of, start), rateBy('tokenBucket', of, start)]
      let now = start
      let near = false
      for (const [wait, cost] of life) {
        now += wait
        // A token that is there but for a rounding: both answers are right, and from there on they differ.
        near ||= Math.abs(bucket.left(now) - cost) < 1e-6 + grain(of, start)
        if (near) return
        expect(rate.left(now)).toBeCloseTo(bucket.left(now), start > 1e9 ? 0 : 4)
        const [mine, its] = [rate.take(cost, now), bucket.take(cost, now)]
        expect(mine === 0).toBe(its === 0)
        // The pacer has patience for more than a burst.
        if (its === Number.POSITIVE_INFINITY) expect(algorithm === 'pacer' || mine === its).toBe(true)
      }
    }),
    { seed: 86, numRuns: 300 },
  )
})

test('the log is a list of all that was taken', () => {
  fc.assert(
    fc.property(wanted, startAt, offers, (of, start, life) => {
      const log = rateBy('slidingLog', of, start)
      const [limit, windowMs] = of.rate > 0 && of.rate < 1 ? [1, of.per / of.rate] : [of.rate, of.per]
      const list: Grant[] = []
      let now = start
      for (const [wait, cost] of life) {
        now += wait
        const used = list.reduce((sum, { at, cost: c }) => (at + windowMs > now ? sum + c : sum), 0)
        const fits = used + cost <= limit + 1e-9
        expect(log.take(cost, now) === 0).toBe(fits)
        if (fits) list.push({ at: now, cost })
      }
    }),
    { seed: 87, numRuns: 400 },
  )
})
