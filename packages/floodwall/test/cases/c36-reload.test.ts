import { answered, breaker, bulkhead, failed, type Layer, pipeline, rateLimit } from 'floodwall'
import { parseLayers } from 'floodwall/rules'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fateOf, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// Each reload rebuilt everything: an open breaker closed, counters and buckets were full again; or, the opposite, new values were ignored
// because the old object was kept. (resilience4j #2365, sentinel-golang #232, otoroshi #883)

type Options = { rate?: number; over?: `${number}s`; limit?: number; slots?: number }

const layers = ({ rate = 0.5, over = '10s', limit = 10, slots = 4 }: Options = {}): Layer[] => [
  breaker({ failureRate: rate, over, atLeast: 10, openFor: '10s', jitter: 0, probes: 1 }),
  bulkhead({ slots }),
  rateLimit({ rate: limit, per: '10s' }),
]

/** The breaker has been open for 3 s, with 7 s left. */
async function house() {
  const world = new VirtualRuntime()
  const p = pipeline('p', layers(), { runtime: world })
  for (let i = 0; i < 10; i++) await p.outcome(() => Promise.reject(new Error('down')))
  world.advance(3000)
  expect(layerOf(p, 'breaker')).toMatchObject({ state: 'open', probeInMs: 7000 })
  return { world, p }
}

describe('C36 an open breaker', () => {
  const ways: [string, Options][] = [
    ['(a) identical', {}],
    ['(b) another threshold', { rate: 0.6 }],
    ['(c) another window', { over: '20s' }],
  ]

  test.each(ways)('%s: stays open, to its original time', async (_, options) => {
    const { world, p } = await house()
    p.reload(layers(options))
    expect(layerOf(p, 'breaker')).toMatchObject({ state: 'open', probeInMs: 7000, opened: 1 })
    world.advance(6999)
    expect(await p.outcome(() => 1)).toMatchObject({ rejection: { reason: 'open', retryAfterMs: 1 } })
    world.advance(1)
    expect(await p.call(() => 'probe')).toBe('probe')
    expect(layerOf(p, 'breaker')['state']).toBe('closed')
  })

  test('(d) taken out and put back is a new one: what a rule has learnt goes with it', async () => {
    const { p } = await house()
    p.reload(layers().slice(1))
    p.reload(layers())
    expect(layerOf(p, 'breaker')).toMatchObject({ state: 'closed', opened: 0 })
  })

  test('(g) identical each second for 60 s with 40 % failures: statistics live on, and it still trips', async () => {
    const world = new VirtualRuntime()
    const random = seeded(4)
    const make = () => [breaker({ failureRate: 0.35, over: '10s', atLeast: 100, jitter: 0 })]
    const p = pipeline('p', make(), { runtime: world })
    for (let second = 0; second < 60; second++) {
      // 12 a second: no single second would reach the minimum of 100.
      for (let i = 0; i < 12; i++)
        p.start(
          (_, done) => done(random() < 0.4 ? failed(new Error('x')) : answered(1)),
          () => {},
        )
      world.advance('1s')
      p.reload(make())
    }
    expect(layerOf(p, 'breaker')['opened']).toBeGreaterThan(0)
  })
})

describe('C36 calls in flight', () => {
  test('3 under a bulkhead of 4: the limit holds across the swap, never 4 + 4', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', layers({ limit: 1000 }), { runtime: world })
    const fates = Array.from({ length: 3 }, () => fateOf(p.call(takes(world, 100, 'ok'))))
    p.reload(layers({ limit: 1000 }))
    p.reload(layers({ limit: 1000, rate: 0.6 }))
    const offered = await Promise.all(
      Array.from({ length: 4 }, () => Promise.race([p.outcome(takes(world, 100, 'ok')), Promise.resolve('inside')])),
    )
    expect(offered.filter((o) => o === 'inside').length).toBe(1)
    expect(layerOf(p, 'bulkhead')['used']).toBe(4)
    await world.advanceAsync(100)
    expect([fates.map((f) => f.value), leftIn(world, p)]).toEqual([['ok', 'ok', 'ok'], NOTHING])
  })

  test('under a bulkhead that is taken out and put back finish, and give their slots to the gate that they took them from', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', layers(), { runtime: world })
    const fates = Array.from({ length: 3 }, () => fateOf(p.call(takes(world, 100, 'ok'))))
    p.reload([])
    p.reload(layers())
    await world.advanceAsync(100)
    expect([fates.map((f) => f.value), leftIn(world, p), layerOf(p, 'bulkhead')['most']]).toEqual([
      ['ok', 'ok', 'ok'],
      NOTHING,
      0,
    ])
  })
})

describe('C36 a bucket with 2 of 10 left', () => {
  const spent = async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [rateLimit({ rate: 10, per: '1h' })], { runtime: world })
    for (let i = 0; i < 8; i++) await p.call(() => 1)
    return { p, left: () => layerOf(p, 'rateLimit')['tokens'] }
  }

  test.each([
    [10, 2],
    [5, 2],
    [20, 2],
    [1, 1],
  ])('(e) limit to %i: %i left', async (rate, tokens) => {
    const { p, left } = await spent()
    p.reload([rateLimit({ rate, per: '1h' })])
    expect(left()).toBe(tokens)
    p.reload([rateLimit({ rate: 10, per: '1h' })])
    expect(left()).toBe(tokens)
  })

  test('(f) an invalid document changes nothing', async () => {
    const { p, left } = await spent()
    const before = [p.find('rateLimit'), p.explain()]
    expect(() =>
      p.reload(
        parseLayers([
          { kind: 'rateLimit', rate: 20 },
          { kind: 'rateLimit', rate: 'x' },
        ]),
      ),
    ).toThrow('layers[1].rate')
    expect([p.find('rateLimit'), p.explain(), left()]).toEqual([...before, 2])
  })

  test('(h) two reloads in one tick: the last one wins, and it is not a free burst', async () => {
    const { p, left } = await spent()
    p.reload([rateLimit({ rate: 1000, per: '1h' })])
    p.reload([rateLimit({ rate: 20, per: '1h' })])
    expect([left(), layerOf(p, 'rateLimit')['burst']]).toEqual([2, 20])
  })
})

test('C36 1,000 calls a second during a reload each second: 0 errors, and each call sees one configuration', async () => {
  const world = new VirtualRuntime({ seed: 9 })
  const version = (n: number): Layer[] => {
    const mark = (place: string): Layer => ({
      kind: `mark-${place}`,
      options: { n },
      build: (env) => ({
        kind: 'mark',
        path: env.path,
        run: (call, next, done) => ((call.data as string[]).push(`${n}`), next(call, done)),
      }),
    })
    return [
      mark('outer'),
      bulkhead({ slots: 200 + (n % 3) }),
      breaker({ atLeast: 20 + (n % 2) }),
      ...(n % 2 === 0 ? [rateLimit({ rate: 1e6 })] : []),
      mark('inner'),
    ]
  }
  const p = pipeline('p', version(0), { runtime: world })
  const seen: string[][] = []
  let bad = 0
  for (let ms = 0; ms < 10_000; ms++) {
    const marks: string[] = []
    seen.push(marks)
    p.start(
      (_, done) => void world.after(world.random() * 150, () => done(answered(1))),
      (o) => void (o.ok || bad++),
      { data: marks },
    )
    if (ms % 1000 === 500) p.reload(version(ms))
    world.advance(1)
  }
  world.run()
  expect([bad, seen.every(([outer, inner]) => outer === inner), leftIn(world, p)]).toEqual([0, true, NOTHING])
})
