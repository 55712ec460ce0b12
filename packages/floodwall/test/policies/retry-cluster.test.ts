import { answered, balance, type Call, type ClusterOptions, failed, type RetryOptions, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { pipeline } from '../../src/core/pipeline.ts'
import { broken, fleet, Scene, well } from '../cluster/scene.ts'
import { layerOf } from '../core/fate.ts'

// A failure is one endpoint's, or everybody's. The cluster's usable share decides.

const ample = { ratio: 1, minimum: 1000 }
const slow = { first: 1000, factor: 1 } as const

/** Calls to a cluster of `n`, of which the first `bad` fail. */
function scene(n: number, bad: number, options: RetryOptions = {}, cluster: ClusterOptions = {}, seed = 1): Scene {
  const layers = [retry({ backoff: slow, budget: ample, ...options })]
  const found = new Scene(fleet(n), cluster, layers, seed)
  found.set(well)
  for (const { id } of fleet(bad)) found.set(broken, id)
  return found
}

/** One call at a time: how long each took, and how many attempts. */
function lives(s: Scene, calls: number): { ms: number; ok: boolean; attempts: number }[] {
  const total = () => [...s.hits.values()].reduce((sum, n) => sum + n, 0)
  return Array.from({ length: calls }, () => {
    const [began, before, done] = [s.world.now(), total(), s.outcomes.length]
    s.call()
    while (s.outcomes.length === done) s.world.advance(1)
    return { ms: s.world.now() - began, ok: s.outcomes.at(-1)?.ok === true, attempts: total() - before }
  })
}

describe('C23 the first retry goes to another host when there is one', () => {
  test('at once while only part of the cluster is bad: no backoff, and a success', () => {
    const s = scene(4, 1)
    const all = lives(s, 100)
    expect(all.every(({ ok }) => ok)).toBe(true)
    const retried = all.filter(({ attempts }) => attempts > 1)
    expect(retried.length).toBeGreaterThan(2)
    // Two attempts of 20 ms each, one after the other.
    expect(new Set(retried.map(({ ms, attempts }) => `${attempts} in ${ms}`))).toEqual(new Set(['2 in 40']))
    expect(layerOf(s.pipeline, 'retry')).toMatchObject({ atOnce: retried.length, retries: retried.length })
  })

  test('whatever picks, the second attempt never goes where the first one was', () => {
    for (const picker of [
      'powerOfChoices',
      'leastLoaded',
      'random',
      'roundRobin',
      'weighted',
      'consistentHash',
    ] as const) {
      for (let seed = 1; seed <= 20; seed++) {
        const world = new VirtualRuntime({ seed })
        const p = pipeline('p', [retry(), balance({ endpoints: fleet(3), picker, slowStart: 0 })], { runtime: world })
        const went: (string | undefined)[] = []
        const attempts: number[] = []
        p.start(
          (call: Call, done) => {
            went.push(call.endpoint?.id)
            attempts.push(call.attempt)
            done(went.length === 1 ? failed(new Error('reset')) : answered(1))
          },
          () => {},
          { idempotent: true, key: seed },
        )
        world.run()
        expect([new Set(went).size, attempts]).toEqual([2, [0, 1]])
      }
    }
  })

  test('within the budget', () => {
    const s = scene(4, 2, { budget: { ratio: 0.1, minimum: 0 } }, { isolatedAtMost: 0 })
    const outcomes = s.flow(10, 100)
    const { retries, atOnce, overBudget } = layerOf(s.pipeline, 'retry') as Record<string, number>
    expect(retries).toBeLessThanOrEqual(100)
    expect(retries).toBeGreaterThan(80)
    expect(atOnce).toBeGreaterThan(0)
    expect(overBudget).toBeGreaterThan(50)
    expect(outcomes.length).toBeGreaterThan(990)
  })

  test('a pause that the endpoint asked for is kept all the same', () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [retry(), balance({ endpoints: fleet(3) })], { runtime: world })
    const at: number[] = []
    p.start(
      (_, done) => (at.push(world.now()), done(failed(new Error('busy'), 'overload', true, 500))),
      () => {},
      { idempotent: true },
    )
    world.run()
    expect(at[1]).toBeGreaterThanOrEqual(500)
  })
})

describe('when most of the cluster is bad', () => {
  test('there is one retry, after its backoff', () => {
    // The cap keeps half of them in choice, which fail all the same.
    for (const cluster of [{}, { isolatedAtMost: 0 }, { isolatedAtMost: 1, whenOut: 'panic' as const }]) {
      const s = scene(4, 4, { attempts: 5 }, cluster)
      // Until it is found out.
      s.flow(5, 40)
      s.world.advance('2s')
      const all = lives(s, 20)
      for (const { ok, attempts, ms } of all) {
        expect([ok, attempts <= 2]).toEqual([false, true])
        if (attempts === 2) expect(ms).toBeGreaterThan(40)
      }
      expect(all.some(({ attempts }) => attempts === 2)).toBe(true)
    }
  })

  test('also when nothing runs anywhere: connections are refused', () => {
    const s = scene(4, 0, { attempts: 5 }, { whenOut: 'panic' })
    s.set('refuse')
    s.flow(2, 40)
    s.world.advance('2s')
    const all = lives(s, 20)
    expect(Math.max(...all.map(({ attempts }) => attempts))).toBe(2)
  })

  test('and at once elsewhere again when they are well', () => {
    const s = scene(4, 4, { attempts: 5 }, { isolatedAtMost: 0 })
    s.flow(5, 40)
    s.set(well)
    s.flow(30, 40)
    s.world.advance('2s')
    s.set(broken, 'h1')
    const retried = lives(s, 60).filter(({ attempts }) => attempts > 1)
    expect(retried.length).toBeGreaterThan(0)
    for (const { ms } of retried) expect(ms).toBe(40)
  })

  test('elsewhereAbove says how much is most', () => {
    // Three of four are well: too few for those who ask for nine tenths.
    const waits = (elsewhereAbove: number) => {
      const s = scene(4, 1, { elsewhereAbove }, { isolatedAtMost: 1, isolation: { consecutive: 1, openFor: '1h' } })
      return lives(s, 40).filter(({ attempts }) => attempts > 1)
    }
    expect(waits(0.5).every(({ ms }) => ms === 40)).toBe(true)
    expect(waits(0.9).every(({ ms }) => ms > 40)).toBe(true)
    expect([waits(0.5).length, waits(0.9).length]).toEqual([1, 1])
  })
})

describe('an only endpoint', () => {
  test('is no other host: backoff', () => {
    const s = scene(1, 1)
    for (const { ms, attempts } of lives(s, 2)) expect([attempts > 1, ms > 60]).toEqual([true, true])
    expect(layerOf(s.pipeline, 'retry')['atOnce']).toBe(0)
  })
})

describe('the usable share', () => {
  test('is 1 when all are well, falls with failures in choice and with isolation, and comes back', () => {
    const s = scene(10, 0, { attempts: 1 })
    const share = () => s.cluster.usable.share(s.world.now())
    s.flow(1, 100)
    expect(share()).toBe(1)
    s.set(broken, 'h1', 'h2')
    s.flow(4, 100)
    // Two are out, or on their way out.
    expect(share()).toBeGreaterThan(0.75)
    expect(share()).toBeLessThan(0.85)
    s.set(broken)
    s.flow(5, 100)
    expect(share()).toBeLessThan(0.2)
    s.set(well)
    s.flow(60, 100)
    expect(share()).toBeGreaterThan(0.95)
  })

  test('of no endpoints is 0', () => {
    const s = new Scene([], {})
    expect(s.cluster.usable.share(s.world.now())).toBe(0)
  })
})
