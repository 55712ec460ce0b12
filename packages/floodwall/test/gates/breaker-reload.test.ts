import { Breaker, type BreakerOptions, breaker, isConfigError } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import type { BreakerSettings } from '../../src/algorithms/gates/breaker-settings.ts'
import { admitted, ask, offered, rejected } from '../support/asks.ts'
import { Scene } from '../support/breakers.ts'

const OPTIONS: BreakerOptions = {
  failureRate: 0.5,
  over: '10s',
  atLeast: 10,
  openFor: '10s',
  growth: 2,
  jitter: 0,
  probes: 2,
}

/** As a pipeline does it: the layer is built on what stood in its place. */
function reload(scene: Scene, options: BreakerOptions): void {
  const built = breaker(options).build(scene.world.env('peer/breaker'), scene.gate)
  expect(built).toBe(scene.gate)
}

function openWith7sLeft(): Scene {
  const scene = new Scene(OPTIONS)
  scene.calls(10, 'failure')
  scene.world.advance('3s')
  return scene
}

const RELOADS: readonly (readonly [name: string, change: BreakerOptions])[] = [
  ['(a) identical', {}],
  ['(b) threshold 50 -> 60 %', { failureRate: 0.6 }],
  ['(c) window 10 -> 20 s', { over: '20s' }],
  ['(c) window in calls', { lastCalls: 50 }],
  ['another open time', { openFor: '1s', openAtMost: '2s', growth: 1, jitter: 1 }],
  ['another number of probes', { probes: 5, probeFailureRate: 1, probeLapse: '1s' }],
  ['a slow limit', { slowAfter: '100ms' }],
  ['a run of failures', { consecutive: 3 }],
]

describe('C36 a reload keeps what is learnt', () => {
  test.each(RELOADS)('C36 %s: open stays open to its time', (_, change) => {
    const scene = openWith7sLeft()
    reload(scene, { ...OPTIONS, ...change })
    expect(rejected(scene.gate, scene.now)).toMatchObject({ reason: 'open', retryAfterMs: 7000, value: 1, limit: 0.5 })
    scene.world.advance(6999)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(1)
    scene.world.advance(1)
    admitted(scene.gate, scene.now)
    expect(scene.changes).toEqual(['closed -> open', 'open -> halfOpen'])
  })

  test.each(RELOADS)('C36 %s: calls in flight count as they would have', (_, change) => {
    const scene = new Scene(OPTIONS)
    const inFlight = offered(scene.gate, 60, scene.now)
    reload(scene, { ...OPTIONS, ...change })
    for (const permit of inFlight) permit.settle('failure', 200, scene.now)
    expect(scene.changes).toEqual(['closed -> open'])
  })

  test.each(RELOADS)('C36 %s: a half-open breaker goes on with its probes', (_, change) => {
    const scene = openWith7sLeft()
    scene.world.advance('7s')
    const [first, second, none] = offered(scene.gate, 3, scene.now)
    reload(scene, { ...OPTIONS, ...change })
    expect(none).toBeUndefined()
    expect(scene.snapshot.probes).toEqual({ size: 2, free: 0, running: 2, good: 0, bad: 0 })
    first?.settle('success', 1, scene.now)
    second?.settle('success', 1, scene.now)
    expect(scene.state).toBe('closed')
  })

  test.each(['forcedOpen', 'disabled', 'metricsOnly'] as const)('C36 what a hand has set stays: %s', (state) => {
    const scene = new Scene(OPTIONS)
    scene.gate.steer(state)
    reload(scene, { ...OPTIONS, failureRate: 0.9 })
    expect(scene.state).toBe(state)
  })

  test('C36 the growth of the open time goes on', () => {
    const scene = openWith7sLeft()
    scene.world.advance('7s')
    reload(scene, { ...OPTIONS, probes: 1, openFor: '1s' })
    scene.call('failure')
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(2000)
  })
})

describe('C36 statistics over a reload', () => {
  const half = { ...OPTIONS, atLeast: 4 }

  test.each([
    ['identical', {}, 'open'],
    ['another open time', { openFor: '1s' }, 'open'],
    ['other probes', { probes: 9 }, 'open'],
    // Decided: whatever changes what is counted, or what it is held against, starts counting anew. Results that were gathered for one rule
    // must not convict under another.
    ['another threshold', { failureRate: 0.6 }, 'closed'],
    ['another minimum', { atLeast: 3 }, 'closed'],
    ['another window', { over: '20s' }, 'closed'],
    ['other buckets', { buckets: 5 }, 'closed'],
    ['a window in calls', { lastCalls: 4 }, 'closed'],
    ['a run of failures', { consecutive: 9 }, 'closed'],
  ] as const)('C36 %s: after 3 failures one more makes it %s', (_, change, state) => {
    const scene = new Scene(half)
    scene.calls(3, 'failure')
    reload(scene, { ...half, ...change })
    scene.call('failure')
    expect(scene.state).toBe(state)
  })

  test('C36 (g) reloaded each second for 60 s with 40 % failures: it still trips at 30 %', () => {
    const scene = new Scene({ ...OPTIONS, failureRate: 0.3, atLeast: 50, openFor: '1000s', openAtMost: '1000s' })
    for (let i = 0; i < 600; i++) {
      if (i % 10 === 0)
        reload(scene, { ...OPTIONS, failureRate: 0.3, atLeast: 50, openFor: '1000s', openAtMost: '1000s' })
      const answer = scene.gate.tryAcquire(ask(scene.now))
      if (answer.ok) answer.settle(i % 5 < 2 ? 'failure' : 'success', 1, scene.now)
      scene.world.advance(100)
    }
    expect(scene.changes).toEqual(['closed -> open'])
    // The 50th result, at 4.9 s, completes the minimum and is a success: the next failure opens.
    expect(scene.events[0]?.at).toBe(5000)
  })

  test('C36 (h) two reloads in one tick: the last one holds', () => {
    const scene = new Scene(OPTIONS)
    reload(scene, { ...OPTIONS, atLeast: 1 })
    reload(scene, { ...OPTIONS, atLeast: 7 })
    scene.calls(6, 'failure')
    expect(scene.state).toBe('closed')
    scene.call('failure')
    expect(scene.state).toBe('open')
  })

  test('C36 (f) a bad document is no layer: nothing is built, nothing changes', () => {
    const scene = openWith7sLeft()
    let caught: unknown
    try {
      reload(scene, { ...OPTIONS, failureRate: 60 })
    } catch (error) {
      caught = error
    }
    expect(isConfigError(caught)).toBe(true)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(7000)
  })
})

describe('reconfigure', () => {
  test('takes effect for what comes next: open time, probes, slow limit', () => {
    const scene = new Scene({ ...OPTIONS, consecutive: 1 })
    reload(scene, { ...OPTIONS, consecutive: 1, openFor: '2s', probes: 4, slowAfter: '100ms' })
    expect(scene.gate.timed).toBe(true)
    scene.call('timeout', 99)
    expect(scene.state).toBe('closed')
    scene.call('timeout', 100)
    expect(rejected(scene.gate, scene.now).retryAfterMs).toBe(2000)
    scene.world.advance('2s')
    expect(offered(scene.gate, 9, scene.now)).toHaveLength(4)
    reload(scene, { ...OPTIONS, consecutive: 1 })
    expect(scene.gate.timed).toBe(false)
  })

  test('metricsOnly tells of the new limit too', () => {
    const scene = new Scene({ ...OPTIONS, consecutive: 3 })
    scene.gate.steer('metricsOnly')
    scene.calls(3, 'failure')
    reload(scene, { ...OPTIONS, consecutive: 2 })
    scene.calls(2, 'failure')
    expect(scene.changes.slice(1)).toHaveLength(2)
  })

  test('another kind in that place is not adopted', () => {
    const world = new VirtualRuntime()
    const settings = breaker(OPTIONS).options as BreakerSettings
    expect(breaker(settings).build(world.env(), { kind: 'x', path: 'x', run: () => {} })).toBeInstanceOf(Breaker)
  })
})
