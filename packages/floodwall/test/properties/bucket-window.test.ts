import fc from 'fast-check'
import { type Permit, rateLimit, TokenBucket } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ask } from '../support/asks.ts'

interface Grant {
  readonly at: number
  readonly cost: number
}

/** The most that any window of the grants exceeds burst + rate · t by, looking at all of them. */
function excess(grants: readonly Grant[], burst: number, perMs: number): number {
  let most = Number.NEGATIVE_INFINITY
  for (let from = 0; from < grants.length; from++) {
    let sum = 0
    for (let to = from; to < grants.length; to++) {
      sum += grants[to]!.cost
      most = Math.max(most, sum - burst - perMs * (grants[to]!.at - grants[from]!.at))
    }
  }
  return most
}

const settings = fc.record({
  rate: fc.oneof(fc.integer({ min: 0, max: 5000 }), fc.double({ min: 0, max: 10, noNaN: true })),
  per: fc.constantFrom(1, 100, 1000, 60_000, 2_592_000_000),
  burst: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.double({ min: 0, max: 5, noNaN: true })),
})

const startAt = fc.constantFrom(0, 1, 1e9, 1e12)

/** Of a wait and a cost, skewed to the small ones. */
const offer = fc.tuple(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 5, noNaN: true }), fc.nat(100_000)),
  fc.oneof(fc.constant(1), fc.nat(8), fc.double({ min: 0, max: 3, noNaN: true })),
)

describe('no window of any length t grants more than burst + rate · t', () => {
  test('random times and costs', () => {
    let granted = 0
    fc.assert(
      fc.property(
        settings,
        startAt,
        fc.array(offer, { maxLength: 120, size: 'max' }),
        ({ rate, per, burst }, start, offers) => {
          const world = new VirtualRuntime({ startAt: start })
          const gate = new TokenBucket({ rate, per, burst }, world.env())
          const grants: Grant[] = []
          for (const [wait, cost] of offers) {
            world.advance(wait)
            if (gate.tryAcquire(ask(world.now(), { cost })).ok) grants.push({ at: world.now(), cost })
          }
          granted += grants.length
          expect(excess(grants, burst, rate / per)).toBeLessThanOrEqual(1e-6)
        },
      ),
      { seed: 51, numRuns: 1000 },
    )
    expect(granted).toBeGreaterThan(20_000)
  })

  test('also when permits are cancelled, and when a clock steps back', () => {
    const life = fc.array(fc.tuple(offer, fc.boolean(), fc.nat(300)), { maxLength: 120, size: 'max' })
    fc.assert(
      fc.property(settings, life, ({ rate, per, burst }, offers) => {
        const gate = new TokenBucket({ rate, per, burst }, new VirtualRuntime({ startAt: 1e6 }).env())
        const grants: Grant[] = []
        let time = 1e6
        // The newest time that the bucket was told: only that earns.
        let newest = time
        for (const [[wait, cost], cancel, back] of offers) {
          time += wait
          newest = Math.max(newest, time - back)
          const answer = gate.tryAcquire(ask(time - back, { cost }))
          if (!answer.ok) continue
          if (cancel) answer.cancel(time - back)
          else grants.push({ at: newest, cost })
        }
        expect(excess(grants, burst, rate / per)).toBeLessThanOrEqual(1e-6)
      }),
      { seed: 52, numRuns: 500 },
    )
  })

  test('also when permits are cancelled late, over reloads as well', () => {
    const rate = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0.1, max: 10, noNaN: true }))
    const cost = fc.oneof(fc.constant(1), fc.nat(8), fc.double({ min: 0, max: 3, noNaN: true }))
    const step = fc.record({
      /** As a part of the time in which the bucket fills. */
      wait: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1.2, noNaN: true })),
      cost,
      leaver: fc.option(fc.nat(5), { freq: 2 }),
      next: fc.option(rate, { freq: 8 }),
    })
    const life = fc.array(step, { maxLength: 80, size: 'max' })
    let late = 0
    fc.assert(
      fc.property(rate, fc.integer({ min: 1, max: 10 }), startAt, life, (first, burst, start, steps) => {
        const world = new VirtualRuntime({ startAt: start })
        const gate = rateLimit({ rate: first, burst }).build(world.env()) as TokenBucket
        const out: { readonly grant: Grant; readonly permit: Permit }[] = []
        let [earned, perMs] = [0, first / 1000]
        for (const { wait, cost: wanted, leaver, next } of steps) {
          const before = world.now()
          world.advance((wait * burst) / perMs)
          earned += (world.now() - before) * perMs
          if (next !== null) {
            rateLimit({ rate: next, burst }).build(world.env(), gate)
            perMs = next / 1000
          }
          const answer = gate.tryAcquire(ask(world.now(), { cost: wanted }))
          if (answer.ok) out.unshift({ grant: { at: earned, cost: wanted }, permit: answer })
          if (leaver === null) continue
          for (const { permit, grant } of out.splice(leaver, 1)) {
            if (grant.at < earned) late++
            permit.cancel(world.now())
          }
        }
        const grants = out.map(({ grant }) => grant).reverse()
        // At 10^12 ms a double has steps of 0.1 µs.
        expect(excess(grants, burst, 1)).toBeLessThanOrEqual(1e-6 + 100 * start * 2 ** -51)
      }),
      { seed: 55, numRuns: 400 },
    )
    expect(late).toBeGreaterThan(1000)
  })

  test('over reloads: the most that a burst was, and what each rate earned in its time', () => {
    const life = fc.array(fc.tuple(offer, fc.option(settings, { freq: 4 })), { maxLength: 80, size: 'max' })
    fc.assert(
      fc.property(settings, life, (first, offers) => {
        const world = new VirtualRuntime()
        const gate = rateLimit(first).build(world.env()) as TokenBucket
        // On a clock that counts what was earned, every rate is 1.
        const grants: Grant[] = []
        let earned = 0
        let most = first.burst
        let perMs = first.rate / first.per
        for (const [[wait, cost], next] of offers) {
          world.advance(wait)
          earned += wait * perMs
          if (next !== null) {
            rateLimit(next).build(world.env(), gate)
            perMs = next.rate / next.per
            most = Math.max(most, next.burst)
          }
          if (gate.tryAcquire(ask(world.now(), { cost })).ok) grants.push({ at: earned, cost })
        }
        expect(excess(grants, most, 1)).toBeLessThanOrEqual(1e-6 * Math.max(1, earned / 1e6))
      }),
      { seed: 53, numRuns: 500 },
    )
  })

  test('100,000 offers of one long life', () => {
    for (const [rate, burst] of [
      [1, 1],
      [3, 7],
      [999, 5],
      [5000, 100],
    ] as const) {
      const world = new VirtualRuntime()
      const gate = new TokenBucket({ rate, burst }, world.env())
      const random = seeded(rate)
      // The most that any window which ends now has in excess of the rate.
      let above = 0
      let granted = 0
      for (let i = 0; i < 25_000; i++) {
        const wait = (random() * 2000) / rate
        const cost = 1 + Math.floor(random() * Math.min(3, burst))
        world.advance(wait)
        above = Math.max(0, above - (wait * rate) / 1000)
        if (!gate.tryAcquire(ask(world.now(), { cost })).ok) continue
        above += cost
        granted += cost
        if (above > burst + 1e-6) throw new Error(`${above} above the rate, and ${burst} is the burst`)
      }
      // And it is no limit below its rate.
      expect(granted).toBeLessThanOrEqual(burst + (rate * world.now()) / 1000 + 1e-6)
      expect(granted).toBeGreaterThan(0.5 * Math.min(1, burst / 3) * rate * (world.now() / 1000))
    }
  })
})

describe('charged for time', () => {
  test('the debt is never below minus one burst, the savings never above one, and both are paid in time', () => {
    const life = fc.array(
      fc.tuple(
        offer,
        fc.oneof(fc.nat(20), fc.nat(100_000), fc.constantFrom(Number.NaN, -5, Number.POSITIVE_INFINITY)),
        fc.nat(5),
      ),
      { maxLength: 150, size: 'max' },
    )
    fc.assert(
      fc.property(settings, startAt, life, ({ rate, per, burst }, start, offers) => {
        const world = new VirtualRuntime({ startAt: start })
        const gate = new TokenBucket({ rate, per, burst, charge: 'time' }, world.env())
        const inside: { settle(tookMs: number): void }[] = []
        const expectBounds = () => {
          const tokens = gate.inspect(world.now())['tokens'] as number
          if (!(tokens >= -burst - 1e-9 && tokens <= burst)) throw new Error(`${tokens} tokens of ${burst}`)
        }
        for (const [[wait, cost], tookMs, ends] of offers) {
          world.advance(wait)
          const answer = gate.tryAcquire(ask(world.now(), { cost }))
          if (answer.ok) inside.push({ settle: (ms) => answer.settle('success', ms, world.now()) })
          expectBounds()
          for (const permit of inside.splice(0, ends)) permit.settle(tookMs)
          expectBounds()
        }
        for (const permit of inside) permit.settle(0)
        if (rate < 1e-6 || burst < 1) return
        world.advance((2 * burst * per) / rate + 1)
        expect(gate.tryAcquire(ask(world.now())).ok).toBe(true)
      }),
      { seed: 54, numRuns: 500 },
    )
  })
})
