import { answered, bulkhead, failed, type Init, overload, type Pipeline, pipeline, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, layerOf, takes } from '../core/fate.ts'

// The one line before a server, call by call; how well it does is in test/simulator/overload-*.test.ts.

type Options = NonNullable<Parameters<typeof overload>[0]>

/** A server that takes two at once, and no more: the limit is not learned here. */
function house(options: Options = {}, most = 2) {
  const world = new VirtualRuntime({ seed: 5 })
  const p = pipeline('api', [overload({ limits: { start: most, most }, ...options })], { runtime: world })
  const order: unknown[] = []
  const enter = (name: unknown, ms = 100, init: Init = {}): Fate =>
    fateOf(
      p.call(() => {
        order.push(name)
        return takes(world, ms, name)()
      }, init),
      world,
    )
  return { world, p, order, enter, look: () => layerOf(p, 'overload') }
}

const left = (world: VirtualRuntime, p: Pipeline) => {
  const { inFlight, waiting } = layerOf(p, 'overload')
  return { inFlight, waiting, timers: world.timers, running: p.inspect()['running'] }
}
const NOTHING_LEFT = { inFlight: 0, waiting: 0, timers: 0, running: 0 }

/** More than anybody could do, for so long: 5 ms of work, ten at a time each 5 ms. */
function flood(world: VirtualRuntime, p: Pipeline, ms: number, init: Init = {}) {
  const refusals: { reason: string; retryAfterMs: number; why: string; at: number }[] = []
  const end = world.now() + ms
  const come = () => {
    for (let i = 0; i < 10; i++)
      p.start(
        (_, done) => void world.after(5, () => done(answered(i))),
        ({ rejection, retryAfterMs }) => {
          if (rejection !== undefined)
            refusals.push({ reason: rejection.reason, retryAfterMs, why: rejection.why, at: world.now() })
        },
        init,
      )
    if (world.now() < end) world.after(5, come)
  }
  come()
  world.advance(ms + 1)
  return refusals
}

describe('in calm times', () => {
  test('a cold service takes its first call, and others wait their turn, oldest first', async () => {
    const { world, p, order, enter } = house()
    const fates = ['a', 'b', 'c', 'd'].map((name) => enter(name))
    await world.advanceAsync(250)
    expect([order, fates.map((f) => f.at)]).toEqual([
      ['a', 'b', 'c', 'd'],
      [100, 100, 200, 200],
    ])
    expect(left(world, p)).toEqual(NOTHING_LEFT)
  })

  test('higher classes go first', async () => {
    const { world, order, enter } = house()
    for (const name of ['a', 'b']) enter(name)
    enter('batch', 100, { criticality: 'sheddable' })
    enter('page', 100, { criticality: 'critical' })
    enter('pay', 100, { criticality: 'criticalPlus' })
    await world.advanceAsync(350)
    expect(order).toEqual(['a', 'b', 'pay', 'page', 'batch'])
  })

  test('C15 waiting is bounded, work is not; an abort frees the place at once', async () => {
    const { world, p, enter, look } = house({ atMost: 100, size: 3 }, 2)
    // A and another run.
    const a = enter('a', 500)
    const z = enter('z', 500)
    await world.advanceAsync(10)
    const b = enter('b')
    await world.advanceAsync(10)
    const c = enter('c')
    await world.advanceAsync(10)
    const aborter = new AbortController()
    const d = enter('d', 100, { signal: aborter.signal })
    await world.advanceAsync(5)
    const e = enter('e')
    await world.settle()
    expect(codeOf(e)).toBe('queue-full')
    await world.advanceAsync(15)
    aborter.abort('left')
    await world.settle()
    expect([d.value, look()['waiting']]).toEqual(['left', 2])
    await world.advanceAsync(600)
    expect([codeOf(b), b.at, codeOf(c), c.at, a.at, z.at]).toEqual([
      'queue-timeout',
      110,
      'queue-timeout',
      120,
      500,
      500,
    ])
    for (let i = 0; i < 1000; i++) enter(i, 1)
    await world.advanceAsync(200)
    const last = enter('last', 1)
    await world.advanceAsync(1)
    expect([last.value, left(world, p)]).toEqual(['last', NOTHING_LEFT])
  })

  test('who cannot meet his deadline is refused at once, or leaves before his turn', async () => {
    const { world, p, enter } = house()
    for (let i = 0; i < 20; i++) {
      enter(i, 50)
      await world.advanceAsync(60)
    }
    for (const name of ['a', 'b']) enter(name, 1000)
    // 50 ms of work do not fit into 30.
    const hopeless = enter('hopeless', 50, { within: 30 })
    const patient = enter('patient', 50, { within: 300 })
    await world.settle()
    expect([codeOf(hopeless), codeOf(patient)]).toEqual(['deadline', 'pending'])
    const at = world.now()
    await world.advanceAsync(299)
    expect([codeOf(patient), patient.at - at]).toEqual(['deadline', 250])
    await world.advanceAsync(1000)
    expect(left(world, p)).toEqual(NOTHING_LEFT)
  })

  test('who matters more takes the last place of who matters less', async () => {
    const { world, enter } = house({ size: 1 })
    for (const name of ['a', 'b']) enter(name)
    const batch = enter('batch', 1, { criticality: 'sheddable' })
    const page = enter('page', 1)
    await world.settle()
    expect([codeOf(batch), codeOf(page)]).toEqual(['queue-full', 'pending'])
    await world.advanceAsync(150)
    expect(page.value).toBe('page')
  })
})

describe('places are leases', () => {
  test('C17 a timeout gives the caller up, and the place when the work has ended', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('api', [overload({ limits: { start: 2, most: 2 } }), timeout({ after: 100 })], {
      runtime: world,
    })
    let running = 0
    let most = 0
    const work = () => {
      running++
      most = Math.max(most, running)
      return new Promise((resolve) => {
        world.after(1000, () => {
          running--
          resolve(1)
        })
      })
    }
    const first = [fateOf(p.call(work), world), fateOf(p.call(work), world)]
    await world.advanceAsync(150)
    expect([first.map(codeOf), layerOf(p, 'overload')['inFlight']]).toEqual([['timeout', 'timeout'], 2])
    fateOf(p.call(work), world)
    fateOf(p.call(work), world)
    await world.advanceAsync(5000)
    expect([most, left(world, p)]).toEqual([2, NOTHING_LEFT])
  })

  test('C17 a throw gives it back, a held stream when it has ended, and no end counts twice', async () => {
    const { world, p, look } = house()
    await expect(
      p.call(() => {
        throw new Error('broken')
      }),
    ).rejects.toThrow('broken')
    expect(look()['inFlight']).toBe(0)
    let end: (verdict: 'success') => void = () => {}
    await p.call((call) => {
      end = call.hold()
      return 'head'
    })
    expect(look()['inFlight']).toBe(1)
    end('success')
    end('success')
    expect(look()['inFlight']).toBe(0)
    await p.call((call) => void call.hold(1000))
    await world.advanceAsync(1001)
    expect(left(world, p)).toEqual(NOTHING_LEFT)
  })

  test('C16 who has left the line gets no place', async () => {
    const { world, p, enter } = house({ atMost: 50 })
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 8; i++) enter(i, 100)
      await world.advanceAsync(200)
    }
    const fates = [enter('x'), enter('y')]
    await world.advanceAsync(100)
    expect([fates.map((f) => f.value), left(world, p)]).toEqual([['x', 'y'], NOTHING_LEFT])
  })

  test('what a layer further in refuses gives it back, and is no measurement', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('api', [overload(), bulkhead({ slots: 1 })], { runtime: world })
    fateOf(p.call(hangs))
    for (let i = 0; i < 50; i++) await p.call(() => 1).catch(() => {})
    expect(layerOf(p, 'overload')).toMatchObject({ inFlight: 1, serviceMs: 0, goodput: 1 })
  })
})

describe('when too much comes', () => {
  test('the rest is refused at once, with numbers and a time to come again by class', () => {
    for (const [criticality, least, most] of [
      ['criticalPlus', 500, 1000],
      ['critical', 1000, 2000],
      ['sheddablePlus', 60_000, 180_000],
      ['sheddable', 120_000, 360_000],
    ] as const) {
      const { world, p, look } = house()
      flood(world, p, 200, { criticality })
      const refusals = flood(world, p, 300, { criticality })
      expect(new Set(refusals.map(({ reason }) => reason))).toEqual(new Set(['overloaded']))
      for (const { retryAfterMs } of refusals) {
        expect(retryAfterMs).toBeGreaterThanOrEqual(least)
        expect(retryAfterMs).toBeLessThanOrEqual(most)
      }
      expect(new Set(refusals.map(({ retryAfterMs }) => retryAfterMs)).size).toBeGreaterThan(50)
      expect(refusals.some(({ why }) => /the level is \d+ of 512, and the call stands at \d+/.test(why))).toBe(true)
      expect(look()).toMatchObject({ overloaded: true, serviceMs: 5, targetMs: 5, limit: 2, inversions: 0 })
      expect(look()['level']).toBeLessThan(512)
      world.advance('1s')
      expect(left(world, p)).toEqual(NOTHING_LEFT)
    }
  })

  test('it is told when it begins and when it is over', () => {
    const { world, p } = house()
    flood(world, p, 300)
    world.advance('1s')
    p.start(
      (_, done) => done(answered(1)),
      () => {},
    )
    const told = world.events.filter(({ type }) => type === 'state')
    expect(told).toMatchObject([
      { path: 'api/overload', from: 'calm', to: 'overloaded' },
      { path: 'api/overload', from: 'overloaded', to: 'calm' },
    ])
    expect(layerOf(p, 'overload')).toMatchObject({ overloaded: false, level: 512 })
  })

  test('the level is a text for the wire', () => {
    const { world, p } = house()
    const layer = p.find('overload') as unknown as { levelText(): string }
    expect(layer.levelText()).toBe('512')
    flood(world, p, 400)
    expect(Number(layer.levelText())).toBeLessThan(256)
  })

  test('a signal lowers the level although nobody waits, and lets it rise again', () => {
    let level = 0
    const memory = { name: 'memory', level: () => level }
    const { world, p, look } = house({ signals: [memory] }, 100)
    const share = (ms: number) => {
      let taken = 0
      for (let t = 0; t < ms; t += 10) {
        for (let i = 0; i < 5; i++)
          p.start(
            (_, done) => void world.after(20, () => done(answered(1))),
            ({ ok }) => void (taken += ok ? 1 : 0),
          )
        world.advance(10)
      }
      return taken / ((ms / 10) * 5)
    }
    expect(share(1000)).toBeGreaterThan(0.97)
    level = 1.5
    share(2000)
    expect(share(1000)).toBeLessThan(0.4)
    expect(look()['overloaded']).toBe(true)
    level = 0.5
    share(6000)
    expect(share(1000)).toBeGreaterThan(0.95)
    expect(look()['overloaded']).toBe(false)
  })

  test('signals that the process shares need not be named', () => {
    const world = new VirtualRuntime()
    const signals = [{ name: 'loop', level: () => 3 }]
    const shared = new Map<string, unknown>([['floodwall/signals', signals]])
    const p = pipeline('api', [overload()], { runtime: world, shared })
    p.start(
      (_, done) => done(answered(1)),
      () => {},
    )
    expect(layerOf(p, 'overload')['overloaded']).toBe(true)
  })

  test('a service that failed for long is no overload', () => {
    const { world, p, look } = house({}, 100)
    for (let i = 0; i < 1000; i++) {
      p.start(
        (_, done) => void world.after(20, () => done(failed(new Error('no')))),
        () => {},
      )
      world.advance(1)
    }
    world.advance(100)
    expect(look()).toMatchObject({ overloaded: false, goodput: 0 })
    expect(look()['admitted']).toMatchObject({ critical: 1000 })
  })
})

describe('in shadow', () => {
  test('it counts what it would refuse, and refuses nobody', () => {
    const { world, p, look } = house({ shadow: true })
    // 1000 come in a second to somebody who does one at a time, each in 5 ms.
    let busyUntil = 0
    let answers = 0
    for (let i = 0; i < 1000; i++) {
      p.start(
        (_, done) => {
          busyUntil = Math.max(busyUntil, world.now()) + 5
          world.after(busyUntil - world.now(), () => done(answered(1)))
        },
        ({ ok }) => void (answers += ok ? 1 : 0),
      )
      world.advance(1)
    }
    const { refused, admitted, overloaded } = look() as Record<string, Record<string, number>>
    expect(overloaded).toBe(true)
    expect(refused?.['critical']).toBeGreaterThan(300)
    expect(admitted?.['critical']).toBe(1000)
    world.advance('10s')
    expect([answers, left(world, p)]).toEqual([1000, NOTHING_LEFT])
  })
})

describe('over reloads and to the end', () => {
  test('a reload keeps who waits, and what was learned', async () => {
    const { world, p, enter, look } = house()
    const fates = ['a', 'b', 'c'].map((name) => enter(name))
    await world.advanceAsync(10)
    p.reload([overload({ limits: { start: 2, most: 2 }, size: 5 })])
    expect(look()).toMatchObject({ inFlight: 2, waiting: 1 })
    await world.advanceAsync(200)
    expect(fates.map((f) => f.value)).toEqual(['a', 'b', 'c'])
    expect(left(world, p)).toEqual(NOTHING_LEFT)
  })

  test('C38 closed, it answers who waits and takes nobody any more', async () => {
    const { world, p, enter } = house()
    const fates = ['a', 'b', 'c'].map((name) => enter(name))
    p.close()
    p.close()
    const late = enter('late')
    await world.settle()
    expect([codeOf(fates[2] as Fate), codeOf(late)]).toEqual(['closed', 'closed'])
    await world.advanceAsync(100)
    expect(left(world, p)).toEqual(NOTHING_LEFT)
  })
})
