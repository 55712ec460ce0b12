import fc from 'fast-check'
import { answered, failed, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type Backoff, backoffMs, ceilingMs } from '../../src/algorithms/retry/backoff.ts'
import { RetryBudget } from '../../src/algorithms/retry/budget.ts'
import { RetryHistogram } from '../../src/algorithms/retry/histogram.ts'
import { Retry } from '../../src/policies/retry.ts'
import { writeAttempts } from '../../src/wire/attempts.ts'

const SEEDED = { seed: 20_260, numRuns: 300 }

/** The budget as its definition reads: keep everything, and count by looking at all of it. */
class Naive {
  private readonly ratio: number
  private readonly minimum: number
  private readonly widthMs: number
  private readonly requests: number[] = []
  private grants: { at: number; back: boolean }[] = []

  constructor(ratio: number, minimum: number, overMs: number) {
    this.ratio = ratio
    this.minimum = minimum
    this.widthMs = overMs / 10
  }

  private inWindow(at: number, now: number): boolean {
    return Math.floor(at / this.widthMs) > Math.floor(now / this.widthMs) - 10
  }

  request(now: number): void {
    this.requests.push(now)
  }

  spent(now: number): number {
    return this.grants.filter((g) => !g.back && this.inWindow(g.at, now)).length
  }

  allowed(now: number): number {
    const base = this.requests.filter((at) => this.inWindow(at, now)).length
    return this.ratio === 0 ? 0 : Math.max(this.minimum, this.ratio * base)
  }

  grant(now: number): boolean {
    if (this.spent(now) + 1 > this.allowed(now)) return false
    this.grants.push({ at: now, back: false })
    return true
  }

  giveBack(at: number): void {
    const grant = this.grants.find((g) => g.at === at && !g.back)
    if (grant !== undefined) grant.back = true
  }
}

describe('RetryBudget', () => {
  test('agrees with a list of everything, step by step', () => {
    const step = fc.record({
      wait: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(30_000)),
      act: fc.constantFrom('request', 'request', 'grant', 'back'),
      which: fc.nat(1000),
    })
    fc.assert(
      fc.property(
        fc.constantFrom(0, 0.1, 0.2, 0.5, 1),
        fc.nat(5),
        fc.constantFrom(1000, 10_000),
        fc.array(step, { maxLength: 200 }),
        (ratio, minimum, overMs, steps) => {
          const budget = new RetryBudget(ratio, minimum, overMs)
          const naive = new Naive(ratio, minimum, overMs)
          const out: number[] = []
          let now = 50_000
          for (const { wait, act, which } of steps) {
            now += wait
            if (act === 'request') {
              budget.request(now)
              naive.request(now)
            } else if (act === 'grant') {
              const given = budget.grant(now)
              expect(given).toBe(naive.grant(now))
              if (given) out.push(now)
            } else if (out.length > 0) {
              const [at] = out.splice(which % out.length, 1) as [number]
              budget.giveBack(at, now)
              naive.giveBack(at)
            }
            expect([budget.spent(now), budget.allowed(now)]).toEqual([naive.spent(now), naive.allowed(now)])
          }
        },
      ),
      SEEDED,
    )
  })

  test('what is given back after its grant has left the window pays for nothing', () => {
    const budget = new RetryBudget(0.1, 3, 10_000)
    for (let i = 0; i < 3; i++) expect(budget.grant(0)).toBe(true)
    // All three waited for a minute, as the target had asked, and their callers left.
    for (let i = 0; i < 3; i++) budget.giveBack(0, 59_000)
    expect([1, 2, 3, 4].map(() => budget.grant(59_000))).toEqual([true, true, true, false])
  })

  test('a window of ten years, and the first instant', () => {
    const budget = new RetryBudget(1, 0, 315_360_000_000)
    expect(budget.grant(0)).toBe(false)
    budget.request(0)
    expect([budget.grant(0), budget.grant(0), budget.spent(315_360_000_000 * 2)]).toEqual([true, false, 0])
  })
})

describe('RetryHistogram', () => {
  test('what is taken back is none of the tries; in another bucket it stays', () => {
    const tries = new RetryHistogram(10_000)
    for (const began of [500, 600]) tries.count(1, began)
    tries.takeBack(1, 600, 700)
    tries.count(1, 1500)
    expect(tries.counts(1600)).toEqual([0, 2])
    tries.takeBack(1, 500, 2000)
    expect(tries.counts(2000)).toEqual([0, 2])
    // What was taken back leaves the window together with what it was taken from.
    expect([tries.counts(10_500), tries.counts(11_500)]).toEqual([[0, 1], []])
    for (let attempt = 0; attempt < 20; attempt++) tries.count(attempt, 20_000)
    for (let attempt = 7; attempt < 20; attempt++) tries.takeBack(attempt, 20_000, 20_000)
    expect(tries.counts(20_000)).toEqual([1, 1, 1, 1, 1, 1, 1])
  })

  test('counts tries by their number, in a window that slides', () => {
    const tries = new RetryHistogram(10_000)
    for (let i = 0; i < 100; i++) tries.count(0, 500)
    for (let i = 0; i < 10; i++) tries.count(1, 1500)
    tries.count(2, 2500)
    expect(tries.counts(5000)).toEqual([100, 10, 1])
    expect(tries.counts(10_500)).toEqual([0, 10, 1])
    expect(tries.counts(13_000)).toEqual([])
  })

  test('is bounded: the last place takes all later ones', () => {
    const tries = new RetryHistogram(10_000)
    for (let attempt = 0; attempt < 1000; attempt++) tries.count(attempt, 0)
    expect(tries.counts(0)).toEqual([1, 1, 1, 1, 1, 1, 1, 993])
  })

  test('is what a retry shows and offers to whoever sends it along', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry({ attempts: 3, budget: { ratio: 1, minimum: 9 } })], { runtime: world })
    for (let i = 0; i < 4; i++) {
      let tries = 0
      p.start(
        (_, done) => done(tries++ < i ? failed(new Error('x')) : answered(1)),
        () => {},
        { idempotent: true },
      )
    }
    world.advance(1000)
    const built = p.find('retry')
    if (!(built instanceof Retry)) throw new Error('no retry')
    expect(built.tries(world.now())).toEqual([4, 3, 2])
    expect(writeAttempts(built.tries(world.now()))).toBe('4,3,2')
    expect(built.inspect(world.now())['tries']).toEqual([4, 3, 2])
  })
})

describe('backoff', () => {
  const backoffs = fc.record({
    first: fc.double({ min: 0.001, max: 1e6, noNaN: true }),
    factor: fc.double({ min: 1, max: 1000, noNaN: true }),
    atMost: fc.double({ min: 0.001, max: 1e9, noNaN: true }),
  })

  test('0 <= wait < ceiling <= atMost (or first, when that is longer), never shrinking', () => {
    fc.assert(
      fc.property(
        backoffs,
        fc.integer({ min: 1, max: 2000 }),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (backoff: Backoff, attempt, random) => {
          const ceiling = ceilingMs(backoff, attempt)
          const wait = backoffMs(backoff, attempt, random)
          expect(ceiling).toBeLessThanOrEqual(Math.max(backoff.first, backoff.atMost))
          expect(ceiling).toBeGreaterThanOrEqual(attempt === 1 ? backoff.first : ceilingMs(backoff, attempt - 1))
          expect(wait).toBeGreaterThanOrEqual(0)
          expect(wait).toBeLessThan(ceiling)
        },
      ),
      { seed: 3, numRuns: 2000 },
    )
  })

  test('factor 1 stays, and does not count to a million', () => {
    expect(ceilingMs({ first: 50, factor: 1, atMost: 2000 }, 1e9)).toBe(50)
  })

  test('50 ms, factor 2, at most 2 s', () => {
    const backoff = { first: 50, factor: 2, atMost: 2000 }
    expect([1, 2, 3, 4, 5, 6, 7, 8].map((n) => ceilingMs(backoff, n))).toEqual([
      50, 100, 200, 400, 800, 1600, 2000, 2000,
    ])
    expect([backoffMs(backoff, 1, 0), backoffMs(backoff, 2, 0.5)]).toEqual([0, 50])
  })
})
