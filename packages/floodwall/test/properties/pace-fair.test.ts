import fc from 'fast-check'
import { answered, pace, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Slots } from '../../src/algorithms/rates/slots.ts'
import { excess, type Grant, rateBy, worst } from '../support/rates.ts'

const life = fc.array(
  fc.record({
    wait: fc.oneof(fc.constant(0), fc.nat(40), fc.nat(400)),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 4 }), fc.double({ min: 0.1, max: 3, noNaN: true })),
    /** Leaves after so long, if it still waits. */
    leaves: fc.option(fc.nat(300), { freq: 3 }),
  }),
  { maxLength: 60, size: 'max' },
)
const of = fc.record({
  rate: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0.2, max: 50, noNaN: true })),
  burst: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 5 })),
  atMost: fc.integer({ min: 1, max: 2000 }),
})

describe('a pace', () => {
  test('first come, first served; nobody waits longer than is allowed; no window goes above; nothing is left', () => {
    let paced = 0
    let left = 0
    fc.assert(
      fc.property(of, life, (wanted, calls) => {
        const world = new VirtualRuntime()
        const p = pipeline('p', [pace(wanted)], { runtime: world })
        const grants: (Grant & { readonly name: number; readonly came: number })[] = []
        let at = 0
        calls.forEach(({ wait, cost, leaves }, name) => {
          at += wait
          world.after(at, () => {
            const came = world.now()
            const controller = new AbortController()
            p.start(
              (_, done) => {
                grants.push({ name, came, at: world.now(), cost })
                if (world.now() > came) paced++
                done(answered(1))
              },
              ({ ok, rejection }) => void (left += !ok && rejection === undefined ? 1 : 0),
              { cost, signal: controller.signal },
            )
            if (leaves !== null) world.after(leaves, () => controller.abort())
          })
        })
        world.run()
        const names = grants.map(({ name }) => name)
        expect([...names].sort((a, b) => a - b)).toEqual(names)
        for (const { came, at: went } of grants) expect(went - came).toBeLessThanOrEqual(wanted.atMost + 0.01)
        // More than a burst goes when its time has come, all at once.
        const over = Math.max(0, ...grants.map(({ cost }) => cost - wanted.burst))
        // On time is within a microsecond.
        const early = (wanted.rate / 1000) * 0.001
        expect(excess(grants, (t) => worst('pacer', wanted, t)) - over).toBeLessThanOrEqual(early + 1e-6)
        expect([world.timers, p.inspect()['waiting'] ?? 0]).toEqual([0, 0])
      }),
      { seed: 91, numRuns: 400 },
    )
    expect(paced).toBeGreaterThan(1000)
    expect(left).toBeGreaterThan(100)
  })

  test('a line in which nobody leaves keeps its promises, and does not idle: waits never fall within a crowd', () => {
    fc.assert(
      fc.property(of, fc.integer({ min: 2, max: 60 }), ({ rate }, crowd) => {
        const world = new VirtualRuntime()
        const p = pipeline('p', [pace({ rate, atMost: '1h' })], { runtime: world })
        const went: number[] = []
        for (let i = 0; i < crowd; i++)
          p.start(
            (_, done) => (went.push(world.now()), done(answered(1))),
            () => {},
          )
        world.run()
        expect(went.length).toBe(crowd)
        went.forEach((at, i) => expect(at).toBeCloseTo((i * 1000) / rate, 6))
      }),
      { seed: 92, numRuns: 200 },
    )
  })
})

describe('promises', () => {
  test('at their times, those that were cancelled apart, no window goes above; no promise is before now', () => {
    const asks = fc.array(
      fc.record({
        wait: fc.oneof(fc.constant(0), fc.nat(200)),
        cost: fc.constantFrom(0.5, 1, 1, 2),
        leaves: fc.option(fc.nat(20)),
      }),
      { maxLength: 60, size: 'max' },
    )
    let cancelled = 0
    let reused = 0
    let late = 0
    fc.assert(
      fc.property(
        fc.constantFrom('tokenBucket' as const, 'gcra' as const, 'leakyBucket' as const),
        of,
        asks,
        (name, wanted, life) => {
          const bounded = { rate: wanted.rate, burst: Math.max(2, wanted.burst) }
          const slots = new Slots(rateBy(name, bounded))
          const made: { grant: Grant; alive: boolean; slot: import('../../src/algorithms/rates/slots.ts').Slot }[] = []
          let now = 0
          for (const { wait, cost, leaves } of life) {
            now += wait
            const slot = slots.reserve(cost, now, wanted.atMost)
            if (typeof slot !== 'number') {
              expect(slot.at).toBeGreaterThanOrEqual(now)
              expect(slot.at).toBeLessThanOrEqual(now + wanted.atMost)
              if (made.some(({ grant }) => grant.at > slot.at)) reused++
              made.push({ grant: { at: slot.at, cost }, alive: true, slot })
            }
            const leaver = leaves === null ? undefined : made[made.length - 1 - leaves]
            // Also one whose time has come, if it was not used.
            if (leaver === undefined || !leaver.alive) continue
            if (leaver.grant.at < now) late++
            leaver.alive = false
            cancelled++
            slots.cancel(leaver.slot, now)
          }
          const grants = made.filter(({ alive }) => alive).map(({ grant }) => grant)
          grants.sort((a, b) => a.at - b.at)
          expect(excess(grants, (t) => worst(name, bounded, t))).toBeLessThanOrEqual(1e-6)
        },
      ),
      { seed: 93, numRuns: 600 },
    )
    expect(cancelled).toBeGreaterThan(1000)
    expect(reused).toBeGreaterThan(100)
    expect(late).toBeGreaterThan(100)
  })
})
