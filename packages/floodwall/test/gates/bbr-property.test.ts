import fc from 'fast-check'
import { Bbr, type Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ask, VERDICTS } from '../support/asks.ts'
import { NaiveBbr, type NaiveSettings } from './bbr-naive.ts'
import type { Shown } from './bbr-scene.ts'

const settings: fc.Arbitrary<NaiveSettings> = fc.record({
  above: fc.constantFrom(0.5, 0.8),
  coolDown: fc.constantFrom(0, 30, 500),
  sampleEvery: fc.constantFrom(1, 40, 250),
  weight: fc.constantFrom(0.3, 0.5, 1),
  // Widths are whole and so are times, so that both find the same bucket by whatever division.
  over: fc.constantFrom(60, 120, 600),
  buckets: fc.constantFrom(2, 6, 10, 30),
  atLeast: fc.integer({ min: 1, max: 6 }),
  startAt: fc.integer({ min: 1, max: 6 }),
  headroom: fc.constantFrom(0, 1),
  drain: fc.constantFrom(0.5, 0.75, 1),
  slack: fc.constantFrom(1, 2, 8),
})

const pick = fc.nat(1000)
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('ask' as const), times: fc.integer({ min: 1, max: 5 }) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      pick,
      tookMs: fc.oneof(fc.nat(5), fc.nat(60), fc.nat(900)),
      // Mostly success, or nothing would ever be known.
      verdict: fc.constantFrom(
        ...VERDICTS,
        'success' as const,
        'success' as const,
        'success' as const,
        'cancel' as const,
      ),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.oneof(fc.nat(4), fc.nat(20), fc.nat(100)) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(9000) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('cpu' as const), usage: fc.constantFrom(0, 0.4, 0.79, 0.95, 1) }),
  },
)

test('the gate is the naive one, step by step', () => {
  const count = { steps: 0, refused: 0, bounded: 0, known: 0, cold: 0 }
  fc.assert(
    fc.property(
      settings,
      fc.constantFrom(0, 6e9),
      fc.array(step, { minLength: 100, maxLength: 250 }),
      (of, startAt, todo) => {
        const world = new VirtualRuntime({ startAt, seed: 1 })
        let usage = 0
        const gate = new Bbr({ ...of, cpu: () => usage }, world.env('bbr'))
        const naive = new NaiveBbr(of)
        const held: Permit[] = []
        for (const what of todo) {
          const now = world.now()
          count.steps++
          if (what.do === 'cpu') usage = what.usage
          else if (what.do === 'pass') world.advance(what.ms)
          else if (what.do === 'ask')
            for (let i = 0; i < what.times; i++) {
              const answer = gate.tryAcquire(ask(now))
              expect(answer.ok).toBe(naive.ask(usage, now))
              if (answer.ok) held.push(answer)
              else {
                count.refused++
                if (naive.bound(now) !== of.startAt) count.bounded++
                expect([answer.value, answer.limit]).toEqual([naive.inFlight, naive.bound(now)])
              }
            }
          else {
            const [permit] = held.splice(what.pick % Math.max(1, held.length), 1)
            if (permit === undefined) continue
            if (what.verdict === 'cancel') permit.cancel(now)
            else permit.settle(what.verdict, what.tookMs, now)
            naive.end(what.verdict, what.tookMs, now)
          }
          const shown = gate.inspect(world.now()) as unknown as Shown
          expect([shown.inFlight, shown.refused]).toEqual([naive.inFlight, naive.refused])
          if (shown.peak === null) count.cold++
          else count.known++
        }
      },
    ),
    { seed: 20_260_101, numRuns: 60 },
  )
  console.log(
    `bbr against the naive one: ${count.steps} steps, ${count.refused} refusals, ${count.bounded} of them by a bound that it has learnt`,
  )
  // A walk that never gets anywhere proves nothing.
  expect(count.bounded).toBeGreaterThan(300)
  expect(count.known).toBeGreaterThan(1500)
  expect(count.cold).toBeGreaterThan(800)
})

describe('whatever happens', () => {
  const life = fc.array(step, { minLength: 20, maxLength: 200 })

  test('the only call passes, the bound is a whole number from 1, and inside is what was admitted less what has ended', () => {
    fc.assert(
      fc.property(settings, life, (of, todo) => {
        const world = new VirtualRuntime({ startAt: 5000, seed: 1 })
        let usage = 1
        const gate = new Bbr({ ...of, cpu: () => usage }, world.env('bbr'))
        const held: Permit[] = []
        for (const what of todo) {
          if (what.do === 'cpu') usage = what.usage
          else if (what.do === 'pass') world.advance(what.ms)
          else if (what.do === 'ask')
            for (let i = 0; i < what.times; i++) {
              const alone = held.length === 0
              const answer = gate.tryAcquire(ask(world.now()))
              if (answer.ok) held.push(answer)
              else expect(alone).toBe(false)
            }
          else held.splice(what.pick % Math.max(1, held.length), 1)[0]?.settle('success', what.tookMs, world.now())
          const { bound, inFlight } = gate.inspect(world.now()) as unknown as Shown
          expect(Number.isInteger(bound) && bound >= 1).toBe(true)
          expect(inFlight).toBe(held.length)
        }
        for (const permit of held) permit.settle('ignored', 1, world.now())
        world.advance('1h')
        expect(gate.idle(world.now())).toBe(true)
      }),
      { seed: 20_260_102, numRuns: 200 },
    )
  })

  test('below the threshold nothing is refused', () => {
    fc.assert(
      fc.property(settings, life, (of, todo) => {
        const world = new VirtualRuntime({ startAt: 5000, seed: 1 })
        const gate = new Bbr({ ...of, cpu: () => of.above }, world.env('bbr'))
        for (const what of todo) {
          if (what.do === 'pass') world.advance(what.ms)
          else if (what.do === 'ask') expect(gate.tryAcquire(ask(world.now())).ok).toBe(true)
        }
      }),
      { seed: 20_260_103, numRuns: 100 },
    )
  })
})
