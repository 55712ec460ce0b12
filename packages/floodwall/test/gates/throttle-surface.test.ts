import { breaker, type FloodEvent, isRejected, type Keyed, keyed, pipeline, Throttle, throttle } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { admitted, ask, offered, VERDICTS } from '../support/asks.ts'
import { Scene } from './throttle-scene.ts'

const HOUR_MS = 3_600_000

function probing(startAt = 100_000, options = {}): Scene {
  const scene = new Scene({ probeShare: 0, ...options }, startAt)
  scene.burst(10, 0)
  return scene
}

describe('a refusal explains itself', () => {
  test('throttling: what was wanted, and what is allowed', () => {
    const scene = new Scene({ probeShare: 0 })
    scene.burst(100, 30)
    const no = offeredUntilRefused(scene)
    expect(no).toMatchObject({ reason: 'throttled', value: 100, limit: 60, never: false })
    expect(no.why).toBe('100 calls lately, and what was accepted of them allows 60')
  })

  test('probing: nothing was accepted', () => {
    const no = probing().no()
    expect(no).toMatchObject({ reason: 'throttled', value: 10, limit: 0, never: false })
    expect(no.why).toBe('none of the last 10 calls was accepted, only probes pass')
  })

  test('ramping: what was earned is spent', () => {
    const scene = probing()
    scene.world.advance(1000)
    scene.calls(1, 'success')
    offered(scene.gate, 2, scene.now)
    const no = scene.no()
    expect(no).toMatchObject({ value: 3, limit: 2 })
    expect(no.why).toBe('3 calls lately, and what was accepted of them allows 2')
  })

  test('the error at the edge has the numbers, and the time', async () => {
    const world = new VirtualRuntime({ seed: 2 })
    const shop = pipeline('shop', [throttle({ probeShare: 0 })], { runtime: world })
    for (let i = 0; i < 10; i++) await shop.call(() => Promise.reject(new Error('down'))).catch(() => {})
    const error = await shop.call(() => 1).catch((reason: unknown) => reason)
    expect(isRejected(error) && [error.code, error.path, error.retryAfterMs > 0]).toEqual([
      'throttled',
      'shop/throttle',
      true,
    ])
    expect(String(error)).toMatch(
      /\[throttled\] refused by shop\/throttle: none of the last 10 calls was accepted, only probes pass; try again in [\d.]+m?s$/,
    )
  })

  function offeredUntilRefused(scene: Scene) {
    for (;;) {
      const answer = scene.gate.tryAcquire(ask(scene.now))
      if (!answer.ok) return answer
    }
  }
})

describe('when to ask again', () => {
  test('probing: when a probe may pass, and up to a second later, each caller at another time', () => {
    const scene = probing()
    scene.world.advance(400)
    const waits = Array.from({ length: 500 }, () => scene.no().retryAfterMs)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(600)
    expect(Math.min(...waits)).toBeLessThan(620)
    expect(Math.max(...waits)).toBeLessThan(1600)
    expect(Math.max(...waits)).toBeGreaterThan(1580)
    expect(new Set(waits).size).toBeGreaterThan(490)
  })

  test('throttling and ramping: when the counts can have changed', () => {
    const scene = new Scene({ probeShare: 0, over: '2s', buckets: 4 })
    scene.burst(1000, 10)
    const waits = Array.from({ length: 50 }, () => scene.gate.tryAcquire(ask(scene.now))).flatMap((answer) =>
      answer.ok ? [] : [answer.retryAfterMs],
    )
    for (const wait of waits) expect(wait >= 500 && wait < 1000, String(wait)).toBe(true)
  })
})

describe('events', () => {
  test('one for each change, with class and numbers, when the new state is whole', () => {
    const scene = new Scene({ probeShare: 0 }, 100_000)
    scene.burst(20, 5)
    scene.world.advance(3300)
    scene.burst(10, 0, 'overload')
    scene.world.advance(1000)
    scene.calls(2, 'success')
    const told = scene.world.events.flatMap((e) =>
      e.type === 'state' ? [[e.at - 100_000, e.path, e.from, e.to, e.why]] : [],
    )
    const path = 'shop/throttle'
    expect(told).toEqual([
      [0, path, 'passing', 'throttling', 'critical: 5 of 11 calls were accepted in 3s'],
      [3300, path, 'throttling', 'passing', 'critical: nobody called for 3s'],
      [3300, path, 'passing', 'probing', 'critical: none of 10 calls was accepted'],
      [4300, path, 'probing', 'ramping', 'critical: a probe was accepted'],
      [4300, path, 'ramping', 'passing', 'critical: a round trip without a refusal'],
    ])
  })

  test('around the limit, where the share comes and goes with each result, there are few', () => {
    const scene = new Scene({ probeShare: 0 })
    for (let i = 0; i < 60_000; i++) {
      const answer = scene.gate.tryAcquire(ask(scene.now))
      if (answer.ok) answer.settle(scene.world.random() < 0.5 ? 'success' : 'failure', 1, scene.now)
      scene.world.advance(1)
    }
    // A minute: at most one a second would do.
    expect(scene.world.events.length).toBeLessThan(200)
  })

  test('a listener that calls meets the new state', () => {
    const world = new VirtualRuntime({ startAt: 100_000 })
    const seen: unknown[] = []
    const emit = (event: FloodEvent) => {
      if (event.type === 'state') seen.push([event.to, gate.tryAcquire(ask(world.now())).ok])
    }
    const gate = new Throttle({ probeShare: 0 }, { ...world.env(), emit })
    for (let i = 0; i < 10; i++) admitted(gate, world.now()).settle('failure', 1, world.now())
    expect(seen).toEqual([['probing', false]])
  })
})

describe('C06 clocks', () => {
  test('C06 one that steps back an hour: a probe passes at once, and the way back is open', () => {
    const scene = probing(10 * HOUR_MS)
    const earlier = scene.now - HOUR_MS
    const probe = admitted(scene.gate, earlier)
    expect(scene.gate.tryAcquire(ask(earlier)).ok).toBe(false)
    probe.settle('failure', 1, earlier + 20)
    admitted(scene.gate, earlier + 1000).settle('success', 1, earlier + 1020)
    admitted(scene.gate, earlier + 1100).settle('success', 1, earlier + 1120)
    expect(offered(scene.gate, 100, earlier + 1200)).toHaveLength(100)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, -1e15])('a `now` of %d poisons nothing', (now) => {
    for (const scene of [new Scene({}, 100_000), probing()]) {
      for (let i = 0; i < 50; i++) {
        const answer = scene.gate.tryAcquire(ask(now))
        if (answer.ok) answer.settle(VERDICTS[i % 5]!, now, now)
      }
      scene.world.advance(5000)
      for (let i = 0; i < 20; i++) {
        scene.world.advance(1000)
        for (const permit of offered(scene.gate, 5, scene.now)) permit.settle('success', 1, scene.now)
      }
      expect(scene.state).toBe('passing')
      expect(scene.passing(100)).toBe(100)
    }
  })

  test.each([0, 1e9, 1e12])('only differences of times matter: a life from %d on', (startAt) => {
    const life = (from: number) => {
      const scene = new Scene({}, from, 5)
      return Array.from({ length: 2000 }, (_, i) => {
        const answer = scene.gate.tryAcquire(ask(scene.now))
        if (answer.ok) answer.settle(i % 1000 > 300 && i % 1000 < 700 ? 'failure' : 'success', 1, scene.now)
        scene.world.advance(i % 100 === 0 ? 1500 : 30)
        return [answer.ok, scene.critical]
      })
    }
    expect(life(startAt * 3)).toEqual(life(0))
  })

  test('30 days without a call: the next one passes, in any state', () => {
    const scenes = [new Scene(), probing(), probing()]
    scenes[2]?.world.advance(1000)
    scenes[2]?.calls(1, 'success')
    for (const scene of scenes) {
      scene.world.advance('30d')
      expect(scene.passing(1000)).toBe(1000)
    }
  })
})

describe('idle', () => {
  test('when its window is empty and nobody is inside', () => {
    const scene = new Scene({}, 100_000)
    expect(scene.gate.idle(scene.now)).toBe(true)
    const permit = admitted(scene.gate, scene.now)
    expect(scene.gate.idle(scene.now)).toBe(false)
    permit.settle('failure', 1, scene.now)
    expect(scene.gate.idle(scene.now)).toBe(false)
    scene.world.advance('3s')
    expect(scene.gate.idle(scene.now)).toBe(true)
  })

  test('not while it refuses', () => {
    const scene = probing()
    scene.world.advance(900)
    scene.no()
    scene.world.advance(2600)
    expect(scene.gate.idle(scene.now)).toBe(false)
    scene.world.advance(400)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })
})

describe('C36 reload', () => {
  test('C36 other numbers, same state and counts', () => {
    const scene = new Scene({ probeShare: 0 })
    scene.burst(100, 30)
    const kept = throttle({ k: 3, kStep: 0, probeShare: 0 }).build(scene.world.env(), scene.gate)
    expect(kept).toBe(scene.gate)
    expect(scene.critical).toMatchObject({ k: 3, state: 'throttling', requests: 100, accepts: 30, drop: 10 / 101 })
  })

  test('C36 another window begins empty, and an outage goes on', () => {
    const scene = probing()
    throttle({ over: '10s', probeEvery: '5s', probeShare: 0 }).build(scene.world.env(), scene.gate)
    expect(scene.critical).toMatchObject({ state: 'probing', requests: 0 })
    scene.world.advance(4999)
    expect(scene.passing(10)).toBe(0)
    scene.world.advance(1)
    expect(scene.passing(10)).toBe(1)
  })

  test('C36 what stands there is something else: a new one', () => {
    const env = new VirtualRuntime().env()
    expect(throttle().build(env, breaker().build(env))).toBeInstanceOf(Throttle)
  })
})

describe('by key', () => {
  test('a quota of one user is no matter of the others', () => {
    const world = new VirtualRuntime({ startAt: 100_000 })
    const gate = keyed({ of: throttle({ probeShare: 0 }), max: 10 }).build(world.env('api/keyed')) as Keyed
    for (let i = 0; i < 10; i++) admitted(gate, world.now(), { key: 'greedy' }).settle('overload', 1, world.now())
    for (let i = 0; i < 10; i++) admitted(gate, world.now(), { key: 'modest' }).settle('success', 1, world.now())
    const passed = (key: string) => offered(gate, 100, world.now(), { key }).length
    expect([passed('greedy'), passed('modest'), passed('new')]).toEqual([0, 100, 100])
  })
})

describe('the evidence rule', () => {
  test.each([
    // verdict, without a slow limit, given 249 ms, given 250 ms
    ['success', 'accepts', 'accepts', 'accepts'],
    ['failure', 'failed', 'failed', 'failed'],
    ['timeout', 'failed', '', 'failed'],
    ['overload', 'overloaded', 'overloaded', 'overloaded'],
    ['ignored', '', '', 'failed'],
  ] as const)('%s around a slow limit of 250 ms', (verdict, without, before, at) => {
    const counted = (options: object, tookMs: number) => {
      const scene = new Scene(options)
      admitted(scene.gate, scene.now).settle(verdict, tookMs, scene.now)
      return (['accepts', 'failed', 'overloaded'] as const).filter((field) => scene.critical[field] > 0).join()
    }
    const slow = { slowAfter: '250ms' }
    expect([counted({}, 1000), counted(slow, 249), counted(slow, 250)]).toEqual([without, before, at])
  })

  test('it asks for latency exactly when it has a slow limit', () => {
    expect([new Scene().gate.timed, new Scene({ slowAfter: 1 }).gate.timed]).toEqual([false, true])
  })
})
