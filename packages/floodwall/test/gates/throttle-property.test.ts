import fc from 'fast-check'
import { type Permit, Throttle } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { ask, VERDICTS } from '../support/asks.ts'
import { type NaivePermit, type NaiveSettings, NaiveThrottle } from './throttle-naive.ts'
import type { ClassShown } from './throttle-scene.ts'

const settings: fc.Arbitrary<NaiveSettings> = fc.record({
  k: fc.constantFrom(1, 1.25, 1.5, 2, 3),
  // Widths are whole and so are times, so that both find the same bucket by whatever division.
  over: fc.constantFrom(60, 120, 600),
  buckets: fc.constantFrom(1, 2, 6, 10),
  atLeast: fc.integer({ min: 1, max: 8 }),
  probeEvery: fc.constantFrom(10, 40, 200),
  probeOf: fc.constantFrom(4, 10, 1e9),
})

const pick = fc.nat(1000)
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant('acquire' as const), times: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('settle' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), pick }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.oneof(fc.nat(4), fc.nat(4), fc.nat(40), fc.nat(300)),
    }),
  },
  // A clock that steps back, too.
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: -300, max: 0 }) }) },
  // Good times and bad ones.
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('weather' as const), good: fc.constantFrom(0, 0.2, 0.5, 0.9) }),
  },
)

test('the throttle is the naive one, step by step', () => {
  let steps = 0
  const visited = new Map<string, number>()
  fc.assert(
    fc.property(
      settings,
      fc.constantFrom(0, 6e9),
      fc.integer(),
      fc.array(step, { minLength: 100, maxLength: 500 }),
      (...life) => {
        const [of, startAt, seed, todo] = life
        const { probeOf, ...rest } = of
        const dice = seeded(seed)
        const drawn: number[] = []
        const random = () => {
          const draw = dice()
          drawn.push(draw)
          return draw
        }
        const world = new VirtualRuntime({ startAt })
        const gate = new Throttle({ ...rest, probeShare: 1 / probeOf }, { ...world.env(), random })
        const naive = new NaiveThrottle(of, startAt)
        const held: [Permit, NaivePermit][] = []
        let [now, good, lent, ended] = [startAt, 0.5, 0, 0]
        for (const [index, doing] of todo.entries()) {
          const where = `step ${index}, ${doing.do} at ${now}`
          if (doing.do === 'pass') now += doing.ms
          else if (doing.do === 'weather') good = doing.good
          else if (doing.do === 'acquire') {
            for (let i = 0; i < doing.times; i++) {
              drawn.length = 0
              const answer = gate.tryAcquire(ask(now))
              const expected = naive.acquire(now, drawn[0] ?? Number.NaN)
              if (answer.ok !== (expected !== 'refused'))
                throw new Error(`${where}: ${answer.ok}, and not ${expected === 'refused' ? expected : 'a permit'}`)
              if (answer.ok && expected !== 'refused') {
                held.push([answer, expected])
                lent++
              } else if (!answer.ok && !(answer.retryAfterMs >= 0 && answer.retryAfterMs < 1e6))
                throw new Error(`${where}: ${answer.retryAfterMs}`)
            }
          } else if (held.length > 0) {
            const at = doing.pick % held.length
            const [permit, theirs] = held[at]!
            if (permit.open) ended++
            if (doing.do === 'cancel') {
              if (permit.open) naive.cancel(theirs)
              permit.cancel(now)
            } else {
              const verdict = dice() < good ? 'success' : VERDICTS[1 + Math.floor(dice() * 4)]!
              if (permit.open) naive.settle(theirs, verdict, now)
              permit.settle(verdict, 1, now)
            }
            // Most leave; some are ended twice.
            if (doing.pick % 5 > 0) held.splice(at, 1)
          }
          const [shown] = gate.inspect(now)['classes'] as ClassShown[]
          if (shown !== undefined) {
            visited.set(shown.state, (visited.get(shown.state) ?? 0) + 1)
            const { state, requests, accepts, drop, failed, overloaded, refused } = shown
            const count = (what: Parameters<NaiveThrottle['count']>[0]) => naive.count(what, now)
            const ours = [state, requests, accepts, drop, failed, overloaded, refused].join()
            const theirs = [
              naive.shown(now),
              naive.requests(now),
              count('accepted'),
              naive.drop(now),
              count('failed'),
              count('overloaded'),
              count('refused'),
            ].join()
            if (ours !== theirs) throw new Error(`${where}: ${ours}, and not ${theirs}`)
            if (!(drop >= 0 && drop < 1 && accepts <= requests)) throw new Error(`${where}: ${ours}`)
          }
          steps++
        }
        // Permits conserve: with all of them ended and a window gone by, a new gate would be the same.
        for (const [permit] of held) {
          if (permit.open) ended++
          permit.cancel(now)
        }
        now = Math.max(now, startAt) + 10_000
        if (lent !== ended) throw new Error(`${lent} lent, ${ended} ended`)
        if (!gate.idle(now)) throw new Error('all have left, and it is not idle')
      },
    ),
    { seed: 61, numRuns: 900 },
  )
  console.log(`${steps} steps, of which ${[...visited].map(([state, times]) => `${times} ${state}`).join(', ')}`)
  expect(steps).toBeGreaterThan(100_000)
  for (const state of ['passing', 'throttling', 'probing', 'ramping']) expect(visited.get(state)).toBeGreaterThan(2000)
})
