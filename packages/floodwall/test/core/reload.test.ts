import {
  type Breaker,
  breaker,
  bulkhead,
  deadline,
  type FloodEvent,
  gate,
  type Layer,
  pipeline,
  rateLimit,
  retry,
  Semaphore,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, hangs, layerOf, leftIn, NOTHING, takes } from './fate.ts'

function shop(layers: Layer[]) {
  const world = new VirtualRuntime()
  const p = pipeline('shop', layers, { runtime: world })
  const events: FloodEvent[] = []
  p.on((event) => events.push(event))
  return { world, p, events, built: (path: string) => p.find(path) }
}

describe('a reload', () => {
  test('keeps the objects of layers that say the same, also when they are said anew', () => {
    const said = () => [
      breaker({ openFor: '2s' }),
      bulkhead({ slots: 4 }),
      timeout({ after: '1s' }),
      retry({ backoff: { first: 5 } }),
    ]
    const { p, built, events } = shop(said())
    const before = ['breaker', 'bulkhead', 'timeout', 'retry'].map(built)
    p.reload(said())
    expect(['breaker', 'bulkhead', 'timeout', 'retry'].map(built)).toEqual(before)
    expect(built('breaker')).toBe(before[0])
    // Other words for the same span are the same settings.
    p.reload([
      breaker({ openFor: 2000 }),
      bulkhead({ slots: 4 }),
      timeout({ after: 1000 }),
      retry({ backoff: { first: '5ms' } }),
    ])
    expect(built('breaker')).toBe(before[0])
    expect(built('timeout')).toBe(before[2])
    expect(events).toEqual([
      { type: 'reloaded', at: 0, path: 'shop', kept: 4, changed: 0, added: 0, removed: 0 },
      { type: 'reloaded', at: 0, path: 'shop', kept: 4, changed: 0, added: 0, removed: 0 },
    ])
  })

  test('tells what was kept, changed, added and removed', () => {
    const { p, events } = shop([breaker(), bulkhead({ slots: 4 }), timeout({ after: 1 })])
    p.reload([breaker(), bulkhead({ slots: 5 }), rateLimit({ rate: 1 }), deadline({ within: 1 })])
    expect(events).toMatchObject([{ kept: 1, changed: 1, added: 2, removed: 1 }])
  })

  test('to nothing, and back', async () => {
    const { p, world } = shop([bulkhead({ slots: 0 })])
    p.reload([])
    expect(await p.call(() => 1)).toBe(1)
    p.reload([bulkhead({ slots: 0 })])
    expect(await p.outcome(() => 1)).toMatchObject({ ok: false })
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('in another order keeps each layer by kind and ordinal', () => {
    const { p, built } = shop([breaker(), bulkhead({ slots: 4 }), breaker({ consecutive: 3 })])
    const [first, second, slots] = ['breaker', 'breaker-2', 'bulkhead'].map(built)
    p.reload([bulkhead({ slots: 4 }), breaker(), breaker({ consecutive: 3 })])
    expect(
      [built('breaker'), built('breaker-2'), built('bulkhead')].map((b, i) => b === [first, second, slots][i]),
    ).toEqual([true, true, true])
  })

  test('takes effect for the next call; calls in flight finish on the chain they began in', async () => {
    const { p, world } = shop([retry({ attempts: 2, backoff: { first: 10 } }), bulkhead({ slots: 2 })])
    let tries = 0
    const fate = fateOf(
      p.call(
        () => {
          if (++tries === 1) throw new Error('first')
          return 'second'
        },
        { idempotent: true },
      ),
    )
    await world.settle()
    p.reload([bulkhead({ slots: 2 })])
    let again = 0
    const next = fateOf(
      p.call(
        () => {
          again++
          throw new Error('once')
        },
        { idempotent: true },
      ),
    )
    await world.advanceAsync(100)
    expect([fate.value, tries, next.state, again]).toEqual(['second', 2, 'failed', 1])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a permit taken before goes back to its gate, wherever that stands now', async () => {
    const { p, world, built } = shop([bulkhead({ slots: 4 })])
    const fates = Array.from({ length: 3 }, () => fateOf(p.call(takes(world, 100, 1))))
    const slots = built('bulkhead') as Semaphore
    p.reload([rateLimit({ rate: 100 }), bulkhead({ slots: 4 })])
    expect(built('bulkhead')).toBe(slots)
    p.reload([])
    expect(slots.available).toBe(1)
    await world.advanceAsync(100)
    expect([fates.map((f) => f.state), slots.available]).toEqual([['answered', 'answered', 'answered'], 4])
  })

  test('a limit holds across the swap, in both directions', async () => {
    const { p, world } = shop([bulkhead({ slots: 4 })])
    let running = 0
    let most = 0
    const work = () => {
      most = Math.max(most, ++running)
      return new Promise<void>(
        (resolve) =>
          void world.after(100, () => {
            running--
            resolve()
          }),
      )
    }
    const offer = () => Array.from({ length: 10 }, () => fateOf(p.call(work)))
    offer()
    p.reload([bulkhead({ slots: 2 })])
    offer()
    expect([running, layerOf(p, 'bulkhead')]).toEqual([4, expect.objectContaining({ slots: 2, used: 4 })])
    await world.advanceAsync(100)
    most = 0
    offer()
    expect(most).toBe(2)
    p.reload([bulkhead({ slots: 6 })])
    offer()
    expect(most).toBe(6)
    await world.advanceAsync(100)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('learns its timeouts and deadlines anew; alarms set before still ring', async () => {
    const { p, world } = shop([timeout({ after: 100 })])
    const before = fateOf(p.call(hangs), world)
    p.reload([timeout({ after: 50 })])
    const after = fateOf(p.call(hangs), world)
    await world.advanceAsync(200)
    expect([before.at, after.at, world.timers]).toEqual([100, 50, 0])
  })

  test('a function in the options is the same only by identity', () => {
    const by = () => 'k'
    const keyedBy = (fn: () => string) =>
      ({
        kind: 'odd',
        options: { by: fn },
        build: (env: { path: string }) => ({
          kind: 'odd',
          path: env.path,
          run: (c: never, n: never, d: never) => (n as (c: never, d: never) => void)(c, d),
        }),
      }) as unknown as Layer
    const { p, events } = shop([keyedBy(by)])
    p.reload([keyedBy(by)])
    p.reload([keyedBy(() => 'k')])
    expect(events).toMatchObject([
      { kept: 1, changed: 0 },
      { kept: 0, changed: 1 },
    ])
  })
})

describe('a lifted gate', () => {
  test('is not changed by the reload of one pipeline that shares it', async () => {
    const slots = new Semaphore({ slots: 4 })
    const { p, world } = shop([gate(slots)])
    const other = pipeline('other', [gate(slots)], { runtime: world })
    p.reload([bulkhead({ slots: 1 })])
    expect(slots.limit).toBe(4)
    const fate = fateOf(other.call(hangs))
    expect(await p.call(() => 1)).toBe(1)
    expect([fate.state, slots.available]).toEqual(['pending', 3])
  })

  test('replaces another one, and stays when it is the same', () => {
    const [a, b] = [new Semaphore({ slots: 1 }), new Semaphore({ slots: 2 })]
    const { p, built, events } = shop([gate(a)])
    p.reload([gate(a)])
    p.reload([gate(b)])
    // Its path is its own: it stands in other houses too.
    expect(built('bulkhead')).toBe(b)
    expect(events).toMatchObject([{ kept: 1 }, { changed: 1 }])
  })
})

describe('a layer that cannot be built', () => {
  const broken: Layer = {
    kind: 'broken',
    options: {},
    build() {
      throw new Error('cannot')
    },
  }

  test('stops the pipeline from being made', () => {
    expect(() => pipeline('p', [breaker(), broken], { runtime: new VirtualRuntime() })).toThrow('cannot')
  })

  test('stops a reload: the old layers stay, nothing is told', async () => {
    const { p, built, events } = shop([breaker({ consecutive: 1 })])
    const before = built('breaker')
    expect(() => p.reload([broken, bulkhead({ slots: 0 })])).toThrow('cannot')
    expect([built('breaker') === before, events]).toEqual([true, []])
    expect(await p.call(() => 1)).toBe(1)
  })
})

test('state steered by hand survives a reload of other settings', async () => {
  const { p, built } = shop([breaker()])
  ;(built('breaker') as Breaker).steer('forcedOpen', 'maintenance')
  p.reload([breaker({ consecutive: 5 })])
  expect(await p.outcome(() => 1)).toMatchObject({ rejection: { reason: 'forced' } })
})

test('two reloads in one tick: the last one counts', async () => {
  const { p, built } = shop([bulkhead({ slots: 1 })])
  p.reload([bulkhead({ slots: 0 })])
  p.reload([bulkhead({ slots: 2 })])
  expect((built('bulkhead') as Semaphore).limit).toBe(2)
})
