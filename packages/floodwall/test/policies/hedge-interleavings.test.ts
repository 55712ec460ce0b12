import fc from 'fast-check'
import { type Call, type Done, failed, hedge, type Outcome, pipeline } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { aHedge, Chaos, layersOf, NO_REMAINS, stepsOf } from '../core/chaos.ts'
import { layerOf } from '../core/fate.ts'

// Attempts side by side, in every order in which they can end.

const layersWithHedge = fc.tuple(layersOf, aHedge, layersOf).map(([outer, one, inner]) => [...outer, one, ...inner])

test('10,000 interleavings of calls, aborts and time through random layers with a hedge among them leave nothing', {
  timeout: 600_000,
}, () => {
  let hedges = 0
  fc.assert(
    fc.property(layersWithHedge, stepsOf, (layers, steps) => {
      const chaos = new Chaos(layers)
      const { world, p } = chaos
      for (const step of steps) {
        if (step.act === 'pass') {
          world.advance(step.ms)
          chaos.look()
        } else if (step.act === 'abort') chaos.aborters[step.which]?.abort('left')
        else {
          const id = chaos.enter()
          p.start(chaos.work(step.plan), (outcome) => chaos.settle(id, outcome), chaos.init(id, step.plan))
        }
      }
      world.run()
      expect(chaos.remains()).toEqual(NO_REMAINS)
      hedges += layerOf(p, 'hedge')['hedges'] as number
    }),
    { seed: 24, numRuns: 10_000 },
  )
  expect(hedges).toBeGreaterThan(10_000)
})

test('the first success is the answer, the others are told at once; without any, every error is in the one', () => {
  const verdicts = ['success', 'failure', 'timeout', 'overload'] as const
  const attempt = fc.record({
    ms: fc.constantFrom(1, 10, 30, 49, 51, 80, 120, 300),
    verdict: fc.constantFrom(...verdicts),
  })
  fc.assert(
    fc.property(fc.array(attempt, { minLength: 4, maxLength: 4 }), fc.integer({ min: 1, max: 3 }), (plans, most) => {
      const world = new VirtualRuntime()
      const p = pipeline('p', [hedge({ after: 50, most, budget: { ratio: 1, minimum: 10 } })], { runtime: world })
      const ends: { at: number; n: number; ok: boolean; error: Error }[] = []
      const calls: { call: Call; abortedAt: number }[] = []
      let [at, outcome] = [-1, undefined as Outcome<unknown> | undefined]
      const work = (call: Call, done: Done): void => {
        const n = calls.length
        const { ms, verdict } = plans[n] as (typeof plans)[number]
        const seen = { call, abortedAt: -1 }
        calls.push(seen)
        call.signal.addEventListener('abort', () => (seen.abortedAt = world.now()))
        const error = new Error(`${n}`)
        ends.push({ at: world.now() + ms, n, ok: verdict === 'success', error })
        world.after(ms, () =>
          done(
            verdict === 'success'
              ? { ...failed(undefined), ok: true, value: n, verdict, error }
              : failed(error, verdict),
          ),
        )
      }
      p.start(work, (o) => ([at, outcome] = [world.now(), o]), { idempotent: true })
      world.run()
      expect(calls.length).toBeLessThanOrEqual(most + 1)
      const first = ends.filter((e) => e.ok).sort((a, b) => a.at - b.at)[0]
      if (first === undefined) {
        const { error } = outcome as Outcome<unknown>
        // Without a success every attempt that may be made is made.
        expect(calls.length).toBe(most + 1)
        expect((error as AggregateError).errors).toEqual(ends.map((e) => e.error))
        return
      }
      expect([at, outcome?.ok]).toEqual([first.at, true])
      for (const { at: endsAt, n } of ends) {
        if (endsAt > at) expect(calls[n]?.abortedAt).toBe(at)
        else if (n === outcome?.value) expect(calls[n]?.abortedAt).toBe(-1)
      }
    }),
    { seed: 25, numRuns: 2000 },
  )
})

test('what is sent twice is at most the ratio of the calls in every window, or the minimum', () => {
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(0, 0.05, 0.1, 0.5), fc.nat(4), (seed, ratio, minimum) => {
      const world = new VirtualRuntime()
      const random = seeded(seed)
      const over = 1000
      const p = pipeline('p', [hedge({ after: 10, budget: { ratio, minimum, over } })], { runtime: world })
      const firsts: number[] = []
      const seconds: number[] = []
      const work = ({ attempt }: Call, done: Done): void => {
        ;(attempt === 0 ? firsts : seconds).push(world.now())
        world.after(5 + random() * 30, () => done(failed(new Error('x'), random() < 0.5 ? 'failure' : 'success')))
      }
      for (let i = 0; i < 200; i++) {
        p.start(work, () => {}, { idempotent: true })
        world.advance(random() * 40)
      }
      world.run()
      for (const end of seconds) {
        const inWindow = (times: number[]) => times.filter((at) => at > end - over && at <= end).length
        // The window goes by tenths: it reaches back a little less than its span.
        const allowed = ratio === 0 ? 0 : Math.max(minimum, ratio * inWindow(firsts))
        expect(seconds.filter((at) => at > end - 0.9 * over && at <= end).length).toBeLessThanOrEqual(allowed)
      }
    }),
    { seed: 26, numRuns: 200 },
  )
})
