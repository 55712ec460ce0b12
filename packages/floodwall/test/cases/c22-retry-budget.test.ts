import { deadline, failed, type Outcome, type Pipeline, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { layerOf, leftIn, NOTHING } from '../core/fate.ts'

// A budget as a share of running requests: retries waiting in backoff were not counted, so that many more were granted; and when all requests
// fail together the base falls to 0, so that the last ones get nothing. (envoy #30205, #25660, #9069, envoy-mobile #811)

/** Budget 20 %, minimum 3, waits of 200 ms at most. */
function house(budget: { ratio?: number; minimum?: number } = {}) {
  const world = new VirtualRuntime()
  const layers = [
    retry({ attempts: 2, backoff: { first: 200, atMost: 200 }, budget: { ratio: 0.2, minimum: 3, ...budget } }),
  ]
  const p = pipeline('p', layers, { runtime: world })
  const seen = { tries: 0, outcomes: [] as Outcome<unknown>[] }
  const error = new Error('upstream')
  const request = (of: Pipeline = p, init: object = {}) =>
    of.start(
      (_, done) => {
        seen.tries++
        done(failed(error))
      },
      (outcome) => seen.outcomes.push(outcome),
      { idempotent: true, ...init },
    )
  return { world, p, seen, error, request }
}

// Decided: who gets no retry is handed the upstream's own error, by identity, and not one of ours with the other as its cause: what callers
// match on is what the target said, and that must not depend on how busy the others are. That the budget was spent is counted (`overBudget`).
test('C22 (a) 100 requests fail at once: 20 are tried again, waiting ones included; 80 fail at once with the upstream’s error', () => {
  const { world, p, seen, error } = house()
  const pending: ((outcome: Outcome<unknown>) => void)[] = []
  for (let i = 0; i < 100; i++)
    p.start(
      (_, done) => (seen.tries++, seen.tries <= 100 ? void pending.push(done) : done(failed(error))),
      (o) => seen.outcomes.push(o),
      { idempotent: true },
    )
  for (const fail of pending) fail(failed(error))
  expect([seen.outcomes.length, seen.outcomes.every((o) => o.error === error)]).toEqual([80, true])
  expect(layerOf(p, 'retry')).toMatchObject({ waiting: 20, overBudget: 80, budget: { spent: 20, allowed: 20 } })
  world.run()
  expect([seen.tries, seen.outcomes.length, layerOf(p, 'retry')['retries'], leftIn(world, p)]).toEqual([
    120,
    100,
    20,
    NOTHING,
  ])
})

test('C22 (b) 6 in flight fail at once: the minimum of 3 is granted', () => {
  const { world, p, seen, request } = house()
  for (let i = 0; i < 6; i++) request()
  world.run()
  expect([seen.tries, layerOf(p, 'retry')['overBudget']]).toEqual([9, 3])
})

test('C22 (c) one request each 30 s, failing: each may retry', () => {
  const { world, seen, request } = house()
  for (let i = 0; i < 20; i++) {
    request()
    world.advance('30s')
  }
  expect(seen.tries).toBe(40)
})

test('C22 (d) 1,000 a second for 60 s, all failing: at most 1.2 times the requests, plus the minimum', () => {
  const { world, p, seen, request } = house()
  for (let ms = 0; ms < 60_000; ms++) {
    request()
    world.advance(1)
    // In every window of ten seconds, not only over all.
    if (ms % 1000 === 0) {
      const budget = layerOf(p, 'retry')['budget'] as { spent: number; allowed: number }
      expect(budget.spent).toBeLessThanOrEqual(budget.allowed)
    }
  }
  world.run()
  expect(seen.tries).toBeLessThanOrEqual(1.2 * 60_000 + 3)
  expect(seen.tries).toBeGreaterThan(1.19 * 60_000)
  expect([seen.outcomes.length, leftIn(world, p)]).toEqual([60_000, NOTHING])
})

test('C22 (e) retries that are aborted, or closed, while they wait give their grant back', () => {
  const { world, p, request } = house()
  const aborter = new AbortController()
  for (let i = 0; i < 3; i++) request(p, { signal: aborter.signal })
  expect(layerOf(p, 'retry')).toMatchObject({ waiting: 3, budget: { spent: 3 } })
  aborter.abort()
  expect(layerOf(p, 'retry')).toMatchObject({ waiting: 0, retries: 0, budget: { spent: 0 } })
  for (let i = 0; i < 3; i++) request()
  expect(layerOf(p, 'retry')).toMatchObject({ waiting: 3, budget: { spent: 3 } })
  p.close()
  expect([layerOf(p, 'retry')['budget'], leftIn(world, p)]).toMatchObject([{ spent: 0 }, NOTHING])
})

test.each([
  ['ratio 0', { ratio: 0 }],
  ['ratio 0 and a minimum', { ratio: 0, minimum: 10 }],
])('C22 (f) %s: no retries', (_, budget) => {
  const { world, p, seen, request } = house(budget)
  for (let i = 0; i < 50; i++) request()
  world.run()
  expect([seen.tries, layerOf(p, 'retry')['overBudget']]).toEqual([50, 50])
})

test('C22 the base is requests begun, so it does not vanish when they fail, and fades with its window', () => {
  const { world, p, request } = house()
  for (let i = 0; i < 100; i++) request()
  world.advance(5000)
  expect(layerOf(p, 'retry')).toMatchObject({ budget: { allowed: 20 } })
  world.advance(10_000)
  expect(layerOf(p, 'retry')).toMatchObject({ budget: { allowed: 3, spent: 0 } })
})

test('C22 first tries are never refused by the budget, and a wait that does not fit costs nothing', () => {
  const { world, seen } = house()
  const p = pipeline('tight', [deadline({ within: 50 }), retry({ backoff: { first: '60s', atMost: '60s' } })], {
    runtime: world,
  })
  for (let i = 0; i < 100; i++)
    p.start(
      (_, done) => (seen.tries++, done(failed(new Error('x')))),
      () => {},
      { idempotent: true },
    )
  expect([seen.tries, layerOf(p, 'retry')]).toMatchObject([100, { overBudget: 0, budget: { spent: 0 } }])
  world.run()
  expect(leftIn(world, p)).toEqual(NOTHING)
})
