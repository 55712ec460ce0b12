import { Bbr, bbr, bbrPresets, bulkhead, isRejected, type Layer, type Pressure, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { offered, rejected, VERDICTS } from '../support/asks.ts'
import { Scene } from './bbr-scene.ts'

const { formula } = bbrPresets

/** 100 a second of 50 ms each, for two seconds: five inside. */
function busy(options = {}): Scene {
  const scene = new Scene({ ...formula, ...options })
  scene.traffic(2000, 10, 50)
  return scene
}

describe('the bound', () => {
  test('is the most completions of a bucket, times buckets a second, times the least average of a bucket', () => {
    const scene = busy()
    scene.usage = 0.9
    scene.pass(200)
    expect(scene.enter(20)).toHaveLength(5)
    expect(scene.shown).toMatchObject({ hot: true, peak: 100, leastMs: 50, bound: 5, inFlight: 5, refused: 15 })
  })

  test('a part of a call is a place', () => {
    const scene = new Scene(formula)
    scene.traffic(1000, 10, 43)
    scene.usage = 0.9
    scene.pass(200)
    expect(scene.enter(20)).toHaveLength(5)
    expect(scene.shown.leastMs).toBe(43)
  })

  test('the bucket that is filling is in neither', () => {
    const scene = busy()
    scene.pass(100)
    for (const permit of scene.admit(50)) permit.settle('success', 1, scene.now)
    expect(scene.shown).toMatchObject({ peak: 100, leastMs: 50 })
    scene.pass(100)
    expect(scene.shown).toMatchObject({ peak: 500, leastMs: 1 })
  })

  test('what is older than the window is forgotten', () => {
    const scene = busy()
    scene.pass(4800)
    expect(scene.shown.peak).not.toBeNull()
    scene.pass(300)
    expect(scene.shown).toMatchObject({ peak: null, leastMs: null, bound: 10, demand: 0 })
  })

  test('is looked at only while the CPU is too busy', () => {
    const scene = busy()
    scene.usage = 0.8
    scene.pass(10_000)
    expect(scene.enter(1000)).toHaveLength(1000)
    expect(scene.shown).toMatchObject({ hot: false, refused: 0 })
  })

  test.each(VERDICTS)('%s: only success is a measurement, and all of them give the place back', (verdict) => {
    const scene = new Scene(formula)
    for (const permit of scene.admit(20)) permit.settle(verdict, 30, scene.now)
    scene.pass(100)
    expect(scene.shown).toMatchObject({ inFlight: 0, leastMs: verdict === 'success' ? 30 : null })
  })

  test('what is cancelled has not been there', () => {
    const scene = new Scene(formula)
    for (const permit of scene.admit(20)) permit.cancel(scene.now)
    scene.pass(100)
    expect(scene.shown).toMatchObject({ inFlight: 0, peak: null })
  })
})

describe('drain and slack', () => {
  test('slack: what is asked for is less than what it can do, so that eight times as many may be inside', () => {
    const scene = new Scene({ drain: 1, headroom: 0 })
    scene.traffic(2000, 5, 50)
    scene.traffic(1500, 10, 50)
    scene.usage = 1
    expect(scene.shown).toMatchObject({ peak: 200, bound: 80 })
    scene.traffic(1500, 4, 50)
    expect(scene.shown).toMatchObject({ demand: 250, bound: expect.toSatisfy((bound) => bound < 14) })
  })

  test('drain: three quarters of the bound, a quarter of the time', () => {
    const scene = new Scene({ slack: 1, headroom: 0 })
    scene.traffic(2000, 10, 100)
    scene.usage = 0.9
    const bounds = Array.from({ length: 16 }, () => {
      scene.pass(100)
      scene.enter(1).forEach((permit) => permit.cancel(scene.now))
      return scene.shown.bound
    })
    expect(bounds.filter((bound) => bound === 8)).toHaveLength(4)
    expect(bounds.filter((bound) => bound === 10)).toHaveLength(12)
  })

  test('headroom: the root of the bound', () => {
    const scene = new Scene({ slack: 1, drain: 1 })
    scene.traffic(2000, 10, 160)
    expect(scene.shown).toMatchObject({ peak: 100, leastMs: 160, bound: 20 })
  })

  test('on guard the least time is kept for a minute; off guard it is that of the window', () => {
    const scene = new Scene({ slack: 1, drain: 1, headroom: 0 })
    scene.traffic(2000, 10, 50)
    scene.usage = 0.9
    scene.pass(100)
    scene.admit().forEach((permit) => permit.settle('success', 50, scene.now))
    /** A hundred a second, which suddenly take half a second each; they are told so, whatever they took. */
    const slow = (seconds: number) => {
      for (let i = 0; i < seconds * 100; i++) {
        scene.pass(10)
        scene.admit()[0]?.settle('success', 500, scene.now)
      }
    }
    slow(40)
    expect(scene.shown).toMatchObject({ bound: 5, leastMs: 500, peak: 100 })
    slow(25)
    expect(scene.shown).toMatchObject({ bound: 50, leastMs: 500 })
    for (const usage of [0.1, 0.9]) {
      scene.usage = usage
      slow(10)
    }
    expect(scene.shown).toMatchObject({ hot: true, bound: 50, leastMs: 500 })
  })
})

describe('what it tells', () => {
  function refusing(): Scene {
    const scene = busy()
    scene.usage = 0.93
    scene.pass(300)
    return scene
  }

  test('a refusal says how many are inside, how many may be, and why', () => {
    const scene = refusing()
    scene.enter(20)
    const no = rejected(scene.gate, scene.now)
    expect(no).toMatchObject({ reason: 'overloaded', value: 5, limit: 5, never: false })
    expect(no.why).toBe('5 calls are inside, and with the CPU at 93 % 5 may be')
    expect(no.retryAfterMs).toBeGreaterThanOrEqual(1000)
    expect(no.retryAfterMs).toBeLessThan(2000)
  })

  test('those who are refused together are not asked to come back together', () => {
    const scene = refusing()
    scene.enter(20)
    const waits = Array.from({ length: 20 }, () => rejected(scene.gate, scene.now).retryAfterMs)
    expect(new Set(waits).size).toBe(20)
  })

  test('events: on guard, and no longer', () => {
    const scene = new Scene()
    scene.usage = 0.95
    scene.admit(3)
    scene.usage = 0.1
    scene.pass(5000)
    scene.admit(3)
    expect(scene.world.events).toEqual([
      { type: 'state', at: 0, path: 'api/bbr', from: 'passing', to: 'guarding', why: 'the CPU is at 95 %' },
      { type: 'state', at: 5000, path: 'api/bbr', from: 'guarding', to: 'passing', why: 'the CPU is at 10 %' },
    ])
  })

  test('the error at the edge', async () => {
    const world = new VirtualRuntime()
    const api = pipeline('api', [bbr({ cpu: () => 1, startAt: 1 })], { runtime: world })
    void api.call(() => new Promise(() => {}))
    const error = await api.call(() => 1).catch((reason: unknown) => reason)
    expect(isRejected(error) && [error.code, error.path]).toEqual(['overloaded', 'api/bbr'])
  })
})

describe('where it hears of the CPU', () => {
  const pressure = (level: () => number, name = 'cpu'): Pressure => ({ name, level })

  test('a Pressure is asked each time, and not averaged', () => {
    let level = 0
    const scene = new Scene({ cpu: pressure(() => level), startAt: 2, coolDown: 0 })
    expect(scene.enter(5)).toHaveLength(5)
    level = 0.81
    expect(scene.enter(5)).toHaveLength(0)
    level = 0.79
    expect(scene.enter(5)).toHaveLength(5)
  })

  test('without the option: the signal of the server that is called cpu, from when on there is one', () => {
    const world = new VirtualRuntime()
    const env = world.env('api/bbr')
    const gate = new Bbr({ startAt: 2 }, env)
    expect(offered(gate, 5, 0)).toHaveLength(5)
    const signals = env.share<Pressure[]>('floodwall/signals', () => [])
    signals.push(pressure(() => 1, 'memory'))
    expect(offered(gate, 5, 0)).toHaveLength(5)
    signals.push(pressure(() => 1))
    expect(offered(gate, 5, 0)).toHaveLength(0)
  })

  test('without any it refuses nothing, and warns once', () => {
    const world = new VirtualRuntime()
    const gate = new Bbr({ startAt: 1 }, world.env('api/bbr'))
    expect(offered(gate, 500, 0)).toHaveLength(500)
    expect(world.events).toMatchObject([{ type: 'warning', why: expect.stringContaining('nothing is refused') }])
  })

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, undefined, '1'])('%o is no sample', (wrong) => {
    for (const cpu of [() => wrong as number, pressure(() => wrong as number)]) {
      const scene = new Scene({ cpu, startAt: 1 })
      expect(scene.enter(10)).toHaveLength(10)
      expect(scene.shown.cpu).toBeNull()
    }
  })

  test('one that throws takes no call with it', () => {
    const broken = (): number => {
      throw new Error('no such file')
    }
    for (const cpu of [broken, pressure(broken)]) expect(new Scene({ cpu, startAt: 1 }).enter(10)).toHaveLength(10)
  })
})

describe('in a pipeline', () => {
  test('the response time is that of the work, not of what was waited before', async () => {
    const world = new VirtualRuntime()
    const api = pipeline('api', [bbr({ cpu: () => 0.5, ...formula }) as Layer], { runtime: world })
    for (let i = 0; i < 20; i++) {
      const call = api.call(() => new Promise((resolve) => world.after(30, () => resolve(1))))
      world.advance(30)
      await call
    }
    world.advance(100)
    expect(api.find('bbr')?.inspect?.(world.now())).toMatchObject({ leastMs: 30 })
  })

  test('a place is held until the work has ended, also when nobody waits for it any more', async () => {
    const world = new VirtualRuntime()
    const api = pipeline('api', [bbr({ cpu: () => 1, startAt: 1 })], { runtime: world })
    const caller = new AbortController()
    let end: (value: unknown) => void = () => {}
    const call = api.call(() => new Promise((resolve) => (end = resolve)), { signal: caller.signal })
    caller.abort(new Error('gone'))
    await expect(call).rejects.toThrow('gone')
    await expect(api.call(() => 1)).rejects.toThrow('[overloaded]')
    end(1)
    await Promise.resolve()
    await Promise.resolve()
    expect(await api.call(() => 1)).toBe(1)
  })

  test('a reload keeps who is inside and what is known; another window begins empty', () => {
    const scene = busy()
    const held = scene.admit(3)
    const env = scene.world.env('api/bbr')
    const same = bbr({ ...formula, cpu: () => 1, above: 0.5, sampleEvery: 1 }).build(env, scene.gate)
    expect(same).toBe(scene.gate)
    scene.pass(100)
    expect(scene.shown).toMatchObject({ inFlight: 3, peak: 100, leastMs: 50 })
    expect(scene.enter(10)).toHaveLength(2)
    bbr({ ...formula, cpu: () => 1, over: '1s' }).build(env, scene.gate)
    expect(scene.shown).toMatchObject({ inFlight: 5, peak: null, bound: 10 })
    for (const permit of held) permit.settle('success', 1, scene.now)
    expect(scene.shown.inFlight).toBe(2)
    expect(bbr().build(env, bulkhead({ slots: 1 }).build(env))).toBeInstanceOf(Bbr)
  })

  test('idle: nothing inside, nothing known, not on guard', () => {
    const scene = new Scene()
    expect(scene.gate.idle(scene.now)).toBe(true)
    const [permit] = scene.admit()
    expect(scene.gate.idle(scene.now)).toBe(false)
    permit?.settle('success', 1, scene.now)
    expect(scene.gate.idle(scene.now)).toBe(false)
    scene.pass(6000)
    expect(scene.gate.idle(scene.now)).toBe(true)
  })
})
