import { answered, envOf, type FloodEvent, type Gate, HotKeys, type HotKeysOptions, hotKeys, pipeline } from 'floodwall'
import { gateContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

type Hot = FloodEvent & { readonly type: 'hot' }

/** A layer of hotKeys in a world, and calls that pass it. */
class Street {
  readonly world = new VirtualRuntime({ seed: 2 })
  readonly pipeline
  constructor(options: HotKeysOptions = {}) {
    this.pipeline = pipeline('api', [hotKeys(options)], { runtime: this.world })
  }

  /** `times` calls of `key`, evenly over `ms`; who refuses one fails the test. */
  call(key: string | number, times = 1, ms = 0): void {
    for (let i = 0; i < times; i++) {
      this.pipeline.start(
        (_, done) => done(answered(1)),
        ({ ok }) => expect(ok).toBe(true),
        { key },
      )
      this.world.advance(ms / times)
    }
  }

  get told(): string[] {
    const events = this.world.events.filter((event): event is Hot => event.type === 'hot')
    return events.map(({ key, hot, at }) => `${at} ${key} ${hot ? 'hot' : 'cool'}`)
  }

  get layer(): Record<string, unknown> & { keys: { key: string | number; perSecond: number; share: number }[] } {
    return (this.pipeline.inspect()['layers'] as never[])[0] as never
  }
}

describe.each([
  ['by default', {}],
  ['with one key', { k: 1, atLeast: 1, share: 1 }],
] as const)('hotKeys, %s, keeps the promises of a gate', (_, options) => {
  for (const check of gateContract((env) => hotKeys(options).build(env) as Gate)) test(check.name, check.run)
})

test('it shows the most frequent keys with their rates, and refuses nobody', () => {
  const street = new Street({ halfLife: '1s' })
  for (let i = 0; i < 100; i++) {
    street.call('a', 3, 60)
    street.call(7, 1, 40)
  }
  const { keys, perSecond, hot } = street.layer
  expect(keys.map(({ key }) => key)).toEqual(['a', 7])
  expect(keys[0]?.perSecond).toBeCloseTo(30, -1)
  expect(keys[0]?.share).toBeCloseTo(0.75, 1)
  expect(perSecond).toBeCloseTo(40, -1)
  expect(hot).toBe(2)
  street.world.advance('1m')
  expect(street.layer.keys).toEqual([])
})

test('a key is told once when it has become hot and once when it has cooled; at the edge it does not flicker', () => {
  const street = new Street({ atLeast: 20, share: 0.1, halfLife: '10s' })
  street.call('a', 22)
  street.world.advance('1s')
  street.call('a')
  expect(street.told).toEqual(['1000 a hot'])
  // Between 10 and 20 of late: not hot enough to become hot, and too hot to have cooled.
  for (let i = 0; i < 8; i++) {
    street.world.advance('1s')
    street.call('b')
  }
  expect(street.told).toHaveLength(1)
  for (let i = 0; i < 4; i++) {
    street.world.advance('1s')
    street.call('b')
  }
  expect(street.told).toEqual(['1000 a hot', '13000 a cool'])
  expect(street.layer['hot']).toBe(0)
})

test('events are bounded: looked at once a second, never more than k keys hot, labels never longer than 210', () => {
  const street = new Street({ k: 3, atLeast: 1, share: 0.001, halfLife: 500 })
  for (let i = 0; i < 600; i++) street.call(`${i % 40}${'x'.repeat(i % 500)}`, 1, 10)
  const perSecond = new Map<number, number>()
  const hot = new Set<string | number>()
  for (const event of street.world.events) {
    if (event.type !== 'hot') continue
    perSecond.set(event.at, (perSecond.get(event.at) ?? 0) + 1)
    if (event.hot) hot.add(event.key)
    else expect(hot.delete(event.key), 'cooled, and was hot').toBe(true)
    expect(hot.size).toBeLessThanOrEqual(3)
    expect(String(event.key).length).toBeLessThanOrEqual(210)
  }
  const times = [...perSecond.keys()]
  for (const [i, at] of times.slice(1).entries()) expect(at - (times[i] as number)).toBeGreaterThanOrEqual(1000)
  expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(6)
})

test('calls without a key are counted apart; so are those of a `by` that throws or says nonsense', () => {
  const street = new Street()
  street.call('', 3)
  expect(street.layer).toMatchObject({ keyless: 3, keys: [] })
  for (const by of [() => Number.NaN, () => ({}) as string, (): string => fails()]) {
    const other = new Street({ by })
    other.call('a')
    expect(other.layer).toMatchObject({ keyless: 1, keys: [] })
  }
})

test('by: any word of the call', () => {
  const street = new Street({ by: ({ criticality }) => criticality })
  street.call('a')
  expect(street.layer.keys).toMatchObject([{ key: 'critical' }])
})

test('a reload keeps what was counted, as rates', () => {
  const street = new Street({ halfLife: '10s' })
  street.call('a', 3000, 100_000)
  street.call('b', 1)
  street.pipeline.reload([hotKeys({ halfLife: '20s', k: 5, atLeast: 50 })])
  expect(street.layer.keys[0]).toMatchObject({ key: 'a', perSecond: expect.closeTo(30, 0) })
  street.world.advance('20s')
  expect(street.layer.keys[0]?.perSecond).toBeCloseTo(15, 0)
})

test('a key that was told as hot and is no more hot under new settings is told as cooled', () => {
  const street = new Street({ atLeast: 10 })
  street.call('a', 15)
  street.world.advance('1s')
  street.call('a')
  street.pipeline.reload([hotKeys({ atLeast: 100 })])
  street.call('a')
  expect(street.told.map((line) => line.slice(-5))).toEqual(['a hot', ' cool'])
})

test('bare, as a gate by hand', () => {
  const world = new VirtualRuntime()
  const gate = new HotKeys({ k: 2 }, envOf(world, 'mine'))
  const ask = { now: 0, deadline: Number.POSITIVE_INFINITY, criticality: 'critical', cost: 1, key: 'a' } as const
  gate.tryAcquire(ask).cancel(0)
  expect(gate.idle(0)).toBe(false)
  expect(gate.inspect(0)).toMatchObject({ kind: 'hotKeys', path: 'mine', keys: [{ key: 'a', hot: false }] })
  expect(gate.idle(3_600_000)).toBe(true)
})

function fails(): never {
  throw new Error('no')
}
