import { AdaptiveLimit, answered, Breaker, Cluster, type Outcome, pipeline, retry, type Verdict } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { page, rows, section } from '../docs/pages.ts'
import { admitted, ask, VERDICTS } from '../support/asks.ts'
import { Scene } from './throttle-scene.ts'

// The table of verdicts, held against the objects themselves: what each of them makes of each verdict.

const FAST_MS = 1
const SLOW_MS = 250
/** The slowest that the cluster has seen before. */
const SLOWEST_MS = 500

const consumers: Readonly<Record<string, (verdict: Verdict, tookMs?: number) => string>> = {
  breaker(verdict, tookMs = FAST_MS) {
    const slow = tookMs > FAST_MS ? { slowRate: 1, slowAfter: SLOW_MS - 1 } : {}
    const gate = new Breaker({ lastCalls: 2, atLeast: 1, failureRate: 1, ...slow }, new VirtualRuntime().env())
    admitted(gate, 0).settle(verdict, tookMs, 0)
    if (gate.state(0) === 'open') return tookMs > FAST_MS ? 'bad, if there is a `slowRate`' : 'bad'
    return gate.idle(0) ? 'nothing' : 'good'
  },

  throttle(verdict, tookMs = FAST_MS) {
    const scene = new Scene(tookMs > FAST_MS ? { slowAfter: SLOW_MS - 1 } : {})
    admitted(scene.gate, scene.now).settle(verdict, tookMs, scene.now)
    const { requests, accepts } = scene.critical
    if (requests === 0) return 'nothing'
    return accepts === 1 ? 'accepted' : 'not accepted'
  },

  '[adaptiveLimit](adaptive-limit.md)'(verdict, tookMs = FAST_MS) {
    const gate = new AdaptiveLimit({ estimator: 'aimd', initial: 10 }, new VirtualRuntime().env())
    for (let now = 0; now < 100 * tookMs; now += tookMs) {
      const permits = Array.from({ length: 20 }, () => gate.tryAcquire())
      for (const permit of permits) if (permit.ok) permit.settle(verdict, tookMs, now + tookMs)
    }
    if (gate.limit === 10) return 'nothing'
    return gate.limit > 10 ? 'a sample' : 'a drop'
  },

  retry(verdict) {
    const world = new VirtualRuntime()
    let tries = 0
    let last: Outcome<unknown> | undefined
    pipeline('shop', [retry({ attempts: 2 })], { runtime: world }).start(
      (_, done) => {
        tries++
        done(answered(1, verdict))
      },
      (outcome) => {
        last = outcome
      },
      { idempotent: true },
    )
    world.run()
    expect(last?.verdict).toBe(verdict)
    return tries === 1 ? 'ends' : 'again'
  },

  latency(verdict, tookMs = FAST_MS) {
    const world = new VirtualRuntime({ startAt: 1000 })
    const cluster = new Cluster({ slowStart: 0 }, world.env('cluster'))
    cluster.update([{ id: 'slow' }, { id: 'other' }])
    const answer = (id: string, how: Verdict, tookMs: number) => {
      const placed = cluster.place(ask(world.now()), ({ endpoint }) => endpoint.id !== id)
      if (!placed.ok) throw new Error(placed.why)
      admitted(placed.member, world.now()).settle(how, tookMs, world.now())
      return placed.member
    }
    answer('slow', 'success', SLOWEST_MS)
    const ms = answer('other', verdict, tookMs).latencyMs(world.now())
    if (ms === undefined) return 'nothing'
    return ms === tookMs ? 'counts' : 'as slow'
  },
}

/** In the documents: the table of single words. */
const told = rows(section(page('docs/verdicts.md'), '## Who makes what of it').split('In a word')[1] ?? '')

describe('what each consumer makes of each verdict', () => {
  test.each(Object.entries(consumers))('%s', (name, makes) => {
    const [, ...words] = told.find(([consumer]) => consumer === name) ?? []
    const made = VERDICTS.map((verdict) => makes(verdict))
    expect([...made, makes('success', SLOW_MS)]).toEqual(words)
  })

  test('a slow success is none without a slow rate', () => {
    const gate = new Breaker({ lastCalls: 2, atLeast: 1, slowAfter: SLOW_MS - 1 }, new VirtualRuntime().env())
    admitted(gate, 0).settle('success', SLOW_MS, 0)
    expect([gate.state(0), gate.idle(0)]).toEqual(['closed', false])
  })

  test('what fails fast is good where slowness alone counts, and what fails slowly is not', () => {
    const after = (tookMs: number) => {
      const gate = new Breaker(
        { lastCalls: 2, atLeast: 1, slowRate: 1, slowAfter: SLOW_MS - 1 },
        new VirtualRuntime().env(),
      )
      admitted(gate, 0).settle('failure', tookMs, 0)
      return [gate.state(0), gate.idle(0)]
    }
    expect([after(FAST_MS), after(SLOW_MS)]).toEqual([
      ['closed', false],
      ['open', false],
    ])
  })

  test('nobody else is in the table', () => {
    expect(told.map(([name]) => name).filter((name) => !(String(name) in consumers))).toEqual([])
  })
})

describe('overload', () => {
  test('throttles, and opens no breaker', () => {
    const breaker = new Breaker({ consecutive: 1 }, new VirtualRuntime().env())
    for (let i = 0; i < 100; i++) admitted(breaker, 0).settle('overload', 1, 0)
    expect(breaker.state(0)).toBe('closed')
    const scene = new Scene()
    scene.burst(10, 0, 'overload')
    expect(scene.no().reason).toBe('throttled')
  })
})

describe('what is ignored', () => {
  test.each(['passing', 'throttling', 'probing', 'ramping'] as const)('touches nothing while %s', (state) => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    if (state === 'throttling') scene.burst(100, 30)
    else if (state !== 'passing') scene.burst(10, 0)
    else scene.calls(1, 'success')
    if (state !== 'throttling') scene.world.advance(1000)
    if (state === 'ramping') scene.calls(1, 'success')
    expect(scene.state).toBe(state)
    const permits = Array.from({ length: 100 }, () => scene.gate.tryAcquire(ask(scene.now))).filter(({ ok }) => ok)
    expect(permits.length).toBeGreaterThan(0)
    const before = scene.critical
    for (const permit of permits) if (permit.ok) permit.settle('ignored', 5, scene.now)
    expect(scene.critical).toEqual(before)
  })
})
