import fc from 'fast-check'
import { Breaker, type Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { ask, VERDICTS } from '../support/asks.ts'
import { type BreakerSnapshot, STATES } from '../support/breakers.ts'
import { NaiveBreaker, type NaivePermit, type NaiveSettings, OF } from './naive-breaker.ts'

const settings: fc.Arbitrary<NaiveSettings> = fc.record({
  lastCalls: fc.integer({ min: 1, max: 8 }),
  atLeast: fc.integer({ min: 1, max: 10 }),
  parts: fc.integer({ min: 1, max: OF }),
  consecutive: fc.integer({ min: 1, max: 6 }),
  openFor: fc.integer({ min: 1, max: 100 }),
  growth: fc.constantFrom(1, 1.5, 2, 10),
  openAtMost: fc.integer({ min: 1, max: 1000 }),
  healthyAfter: fc.integer({ min: 1, max: 300 }),
  probes: fc.integer({ min: 1, max: 5 }),
  probeParts: fc.integer({ min: 1, max: OF }),
  probeLapse: fc.integer({ min: 1, max: 100 }),
})

const pick = fc.nat(1000)
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('acquire' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('settle' as const), pick, verdict: fc.constantFrom(...VERDICTS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.oneof(fc.nat(3), fc.nat(120)) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('steer' as const), to: fc.constantFrom(...STATES) }) },
)

test('the breaker is the naive one, step by step', () => {
  let steps = 0
  const life = fc.array(step, { minLength: 100, maxLength: 400 })
  fc.assert(
    fc.property(settings, fc.constantFrom(0, 1e12), life, (of, startAt, todo) => {
      const world = new VirtualRuntime({ startAt })
      const { parts, probeParts, ...rest } = of
      const options = { ...rest, failureRate: parts / OF, probeFailureRate: probeParts / OF, jitter: 0 }
      const gate = new Breaker(options, world.env())
      const naive = new NaiveBreaker(of, startAt)
      const held: [Permit, NaivePermit][] = []
      for (const [index, now] of todo.entries()) {
        const time = world.now()
        if (now.do === 'acquire') {
          const [ours, theirs] = [gate.tryAcquire(ask(time)), naive.acquire(time)]
          const said = ours.ok ? 'permit' : `${ours.reason} ${ours.retryAfterMs}`
          const want = typeof theirs === 'string' ? theirs : 'permit'
          if (said !== want) throw new Error(`step ${index}: ${said}, and not ${want}`)
          if (ours.ok) held.push([ours, theirs as NaivePermit])
        } else if (now.do === 'pass') world.advance(now.ms)
        else if (now.do === 'steer') {
          gate.steer(now.to)
          naive.steer(now.to, time)
        } else if (held.length > 0) {
          // Ended ones stay in the list: they are ended twice now and then.
          const [ours, theirs] = held[now.pick % held.length]!
          if (now.do === 'settle') {
            ours.settle(now.verdict, 1, time)
            naive.settle(theirs, now.verdict, time)
          } else {
            ours.cancel(time)
            naive.cancel(theirs)
          }
          if (held.length > 20) held.shift()
        }
        const { state, opened, probes } = gate.inspect(world.now()) as unknown as BreakerSnapshot
        const { size, free, running, good, bad } = probes
        const ours = [state, opened, free, running, good, bad].join()
        const theirs = [naive.state(world.now()), naive.opened, ...naive.probes()].join()
        if (ours !== theirs) throw new Error(`step ${index}, ${now.do}: ${ours}, and not ${theirs}`)
        if (free + running + good + bad !== size) throw new Error(`step ${index}: ${JSON.stringify(probes)}`)
        steps++
      }
    }),
    { seed: 31, numRuns: 400 },
  )
  expect(steps).toBeGreaterThan(40_000)
})
