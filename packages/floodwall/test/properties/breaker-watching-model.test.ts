import fc from 'fast-check'
import { Breaker, type BreakerOptions, type Permit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { ask, VERDICTS } from '../support/asks.ts'
import { type BreakerSnapshot, STATES } from '../support/breakers.ts'
import { NaiveWatchingBreaker, OF, type WatchingPermit, type WatchingSettings } from './naive-watching-breaker.ts'

const part = fc.integer({ min: 1, max: OF })
const settings: fc.Arbitrary<WatchingSettings> = fc.record({
  buckets: fc.integer({ min: 1, max: 6 }),
  widthMs: fc.integer({ min: 5, max: 60 }),
  atLeast: fc.integer({ min: 1, max: 8 }),
  parts: fc.option(part, { nil: undefined }),
  slowParts: fc.option(part, { nil: undefined, freq: 8 }),
  errorCount: fc.option(fc.integer({ min: 1, max: 10 }), { nil: undefined, freq: 2 }),
  slowAfter: fc.integer({ min: 1, max: 60 }),
  openFor: fc.integer({ min: 1, max: 100 }),
  growth: fc.constantFrom(1, 2, 10),
  openAtMost: fc.integer({ min: 1, max: 1000 }),
  healthyAfter: fc.integer({ min: 1, max: 300 }),
  probes: fc.integer({ min: 1, max: 5 }),
  probeParts: part,
  probeLapse: fc.integer({ min: 1, max: 150 }),
  halfOpenAtMost: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
  halfOpenEnd: fc.constantFrom('open', 'closed'),
})

const pick = fc.nat(1000)
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant('acquire' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('settle' as const), pick, verdict: fc.constantFrom(...VERDICTS) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.oneof(fc.nat(6), fc.nat(90)) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('steer' as const), to: fc.constantFrom(...STATES) }) },
)

function optionsOf({ parts, slowParts, probeParts, buckets, widthMs, ...rest }: WatchingSettings): BreakerOptions {
  const share = (of: number | undefined) => (of === undefined ? undefined : of / OF)
  const options: Record<string, unknown> = {
    ...rest,
    over: buckets * widthMs,
    buckets,
    failureRate: share(parts),
    slowRate: share(slowParts),
    probeFailureRate: share(probeParts),
    jitter: 0,
  }
  return options as BreakerOptions
}

/** Where no condition was drawn the default failure rate is one. */
function withACondition(of: WatchingSettings): WatchingSettings {
  const none = of.parts === undefined && of.slowParts === undefined && of.errorCount === undefined
  return none ? { ...of, parts: OF / 2 } : of
}

test('a breaker that watches calls is the naive one, step by step', () => {
  let steps = 0
  const met = { late: 0, byLate: 0, over: 0 }
  const life = fc.array(step, { minLength: 150, maxLength: 400 })
  fc.assert(
    fc.property(settings.map(withACondition), fc.constantFrom(0, 1e12), life, (of, startAt, todo) => {
      const world = new VirtualRuntime({ startAt })
      const gate = new Breaker(optionsOf(of), world.env())
      const naive = new NaiveWatchingBreaker(of, startAt)
      const held: [Permit, WatchingPermit][] = []
      for (const [index, now] of todo.entries()) {
        const time = world.now()
        if (now.do === 'acquire') {
          const [ours, theirs] = [gate.tryAcquire(ask(time)), naive.acquire(time)]
          const said = ours.ok ? 'permit' : `${ours.reason} ${ours.retryAfterMs}`
          const want = typeof theirs === 'string' ? theirs : 'permit'
          if (said !== want) throw new Error(`step ${index}: ${said}, and not ${want}`)
          if (ours.ok) held.push([ours, theirs as WatchingPermit])
        } else if (now.do === 'pass') world.advance(now.ms)
        else if (now.do === 'steer') {
          gate.steer(now.to)
          naive.steer(now.to, time)
        } else if (held.length > 0) {
          // Ended ones stay in the list: they are ended twice now and then.
          const [ours, theirs] = held[now.pick % held.length]!
          if (now.do === 'settle') {
            ours.settle(now.verdict, time - theirs.at, time)
            naive.settle(theirs, now.verdict, time - theirs.at, time)
          } else {
            ours.cancel(time)
            naive.cancel(theirs)
          }
          if (held.length > 20) held.shift()
        }
        const { state, opened, probes, hanging } = gate.inspect(world.now()) as unknown as BreakerSnapshot
        const { size, free, running, good, bad } = probes
        const ours = [state, opened, free, running, good, bad, hanging].join()
        const late = naive.late(world.now())
        const theirs = [naive.state(world.now()), naive.opened, ...naive.probes(), late].join()
        if (ours !== theirs) throw new Error(`step ${index}, ${now.do}: ${ours}, and not ${theirs}`)
        if (free + running + good + bad !== size) throw new Error(`step ${index}: ${JSON.stringify(probes)}`)
        if (late > 0) met.late++
        steps++
      }
      for (const event of world.events) {
        if (event.type !== 'state') continue
        if (event.why.includes('still running')) met.byLate++
        if (event.why.includes('without a decision')) met.over++
      }
    }),
    { seed: 47, numRuns: 1000 },
  )
  expect(steps).toBeGreaterThan(200_000)
  // It has been where it was meant to go.
  expect(Math.min(met.late, met.byLate, met.over)).toBeGreaterThan(200)
})
