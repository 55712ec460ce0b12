import fc from 'fast-check'
import { retry } from 'floodwall'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Chaos, layersOf, NO_REMAINS, type Plan, stepsOf } from './chaos.ts'
import { layerOf } from './fate.ts'

// Random calls through random layers: whatever happens, in whatever order, nothing stays in flight.

const loose: unknown[] = []
const note = (reason: unknown) => void loose.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => {
  process.off('unhandledRejection', note)
  expect(loose).toEqual([])
})

test('10,000 interleavings without promises', { timeout: 600_000 }, () => {
  fc.assert(
    fc.property(layersOf, stepsOf, (layers, steps) => {
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
      world.advance('1d')
      let admitted = false
      p.start(
        (_, done) => {
          admitted = true
          done({
            ok: true,
            value: 1,
            error: undefined,
            verdict: 'success',
            ran: true,
            rejection: undefined,
            retryAfterMs: 0,
            noRetry: false,
          })
        },
        () => {},
      )
      expect(admitted).toBe(true)
    }),
    { seed: 1, numRuns: 10_000 },
  )
})

test('500 interleavings with promises', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(layersOf, stepsOf, async (layers, steps) => {
      const chaos = new Chaos(layers)
      const { world, p } = chaos
      for (const step of steps) {
        if (step.act === 'pass') await world.advanceAsync(step.ms)
        else if (step.act === 'abort') chaos.aborters[step.which]?.abort('left')
        else {
          const id = chaos.enter()
          const outcome = p.outcome(promised(chaos, step.plan), chaos.init(id, step.plan))
          void Promise.resolve(outcome).then((o) => chaos.settle(id, o))
        }
        chaos.look()
      }
      while (world.timers > 0) await world.advanceAsync(1000)
      await world.settle()
      expect(chaos.remains()).toEqual(NO_REMAINS)
      await world.advanceAsync('1d')
      expect(await p.call(() => 'admitted')).toBe('admitted')
    }),
    { seed: 2, numRuns: 500 },
  )
})

/** The same work as a promise; its outcome's error is thrown, so that the verdict is the default one. */
function promised(chaos: Chaos, plan: Plan) {
  const work = chaos.work(plan)
  return (call: Parameters<typeof work>[0]) =>
    new Promise((resolve, reject) => {
      work(call, (outcome) => (outcome.ok ? resolve(outcome.value) : reject(outcome.error)))
    })
}

test('retries are at most the ratio of the calls, or the minimum', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(0, 0.1, 0.5, 1),
      fc.nat(5),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.nat(200), { maxLength: 60 }),
      (ratio, minimum, attempts, waits) => {
        // A window that sees the whole run.
        const chaos = new Chaos([
          retry({ attempts, backoff: { first: 50, atMost: 50 }, budget: { ratio, minimum, over: '1h' } }),
        ])
        let tries = 0
        for (const ms of waits) {
          chaos.p.start(
            (_, done) => (
              tries++,
              done({
                ok: false,
                value: undefined,
                error: 'x',
                verdict: 'failure',
                ran: true,
                rejection: undefined,
                retryAfterMs: 0,
                noRetry: false,
              })
            ),
            () => {},
            { idempotent: true },
          )
          chaos.world.advance(ms)
        }
        chaos.world.run()
        const retries = layerOf(chaos.p, 'retry')['retries'] as number
        expect(tries).toBe(waits.length + retries)
        expect(retries).toBeLessThanOrEqual(ratio === 0 ? 0 : Math.max(minimum, ratio * waits.length))
      },
    ),
    { seed: 3, numRuns: 500 },
  )
})
