import { type HotCacheOptions, hotCache } from 'floodwall/caches'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Scene } from './scene.ts'

describe('what is kept', () => {
  test('a hot key is loaded once and then given from here, until its ttl is over', async () => {
    const scene = new Scene()
    await scene.keep('a', 'v1')
    expect([await scene.ask('a'), scene.loads]).toEqual(['hit v1', 1])
    scene.world.advance('9999ms')
    expect(await scene.ask('a')).toBe('hit v1')
    scene.world.advance(1)
    expect([await scene.ask('a'), scene.loads]).toEqual(['loading', 2])
    await scene.answer('v2')
    expect(await scene.ask('a')).toBe('hit v2')
    expect(scene.counts('hits', 'misses', 'loads', 'promoted')).toEqual([3, 2, 2, 1])
    expect(scene.world.timers).toBe(0)
  })

  test('a key that is not hot goes to its source each time; it is kept from the call on that makes it hot', async () => {
    const scene = new Scene({ atLeast: 3 })
    for (const value of ['1', '2', '3']) await scene.keep('a', value)
    expect([await scene.ask('a'), scene.loads]).toEqual(['hit 3', 3])
  })

  test('of many keys in turn none is hot, whatever the k has room for', async () => {
    const world = new VirtualRuntime()
    const cache = hotCache<number, number>({ load: (key) => key, ttl: '1m', share: 0.05, atLeast: 10 }, world)
    for (let i = 0; i < 2000; i++) await cache.get(i % 40)
    expect(cache.inspect()).toMatchObject({ loads: 2000, entries: 0 })
    for (let i = 0; i < 2000; i++) await cache.get(i % 2 === 0 ? 7 : i)
    expect(cache.inspect()).toMatchObject({ entries: 1, promoted: 1 })
    expect(cache.hottest()[0]).toMatchObject({ key: 7, hot: true })
  })

  test.each([undefined, null, 0, '', false, Number.NaN])('%s is a value as any other', async (value) => {
    const scene = new Scene<unknown>()
    await scene.keep('a', value)
    expect(await scene.cache.get('a')).toBe(value)
    expect(scene.loads).toBe(1)
  })

  test('values that were loaded in one moment expire each at a time of its own, none after the ttl', async () => {
    const world = new VirtualRuntime({ seed: 5 })
    let loads = 0
    const load = (key: number) => (loads++, key)
    const cache = hotCache<number, number>({ load, ttl: '10s', jitter: 0.3, atLeast: 1e6 }, world)
    const keys = Array.from({ length: 200 }, (_, i) => i)
    await cache.warm(keys)
    const expired: number[] = []
    for (let ms = 0; ms <= 10_000; ms += 100) {
      const before = loads
      for (const key of keys) await cache.get(key)
      expired.push(loads - before)
      world.advance(100)
    }
    // Cold keys are not kept again: each is loaded anew from its end on.
    const ends = expired.map((n, i) => n - (expired[i - 1] ?? 0))
    expect(expired.slice(0, 70)).toEqual(new Array(70).fill(0))
    expect(expired.at(-1)).toBe(200)
    expect(Math.max(...ends)).toBeLessThan(25)
  })
})

describe('bounded memory', () => {
  test('max: who was used stays, the oldest of the others goes', async () => {
    const scene = new Scene({ max: 2 })
    await scene.keep('a', '1')
    await scene.keep('b', '2')
    expect(await scene.ask('a')).toBe('hit 1')
    await scene.keep('c', '3')
    expect(scene.counts('entries', 'evicted')).toEqual([2, 1])
    expect([await scene.ask('a'), await scene.ask('c'), await scene.ask('b')]).toEqual(['hit 1', 'hit 3', 'loading'])
  })

  test('mostWeight: what is too heavy alone is given and not kept; what cannot be weighed neither', async () => {
    const weigh = (value: string) => (value === 'odd' ? Number.NaN : value === 'bad' ? fails() : value.length)
    const scene = new Scene({ weigh, mostWeight: 10 })
    await scene.keep('a', '1234')
    await scene.keep('b', '123456')
    expect(scene.counts('entries', 'weight')).toEqual([2, 10])
    await scene.keep('c', '1')
    expect(scene.counts('entries', 'weight', 'evicted')).toEqual([2, 7, 1])
    for (const value of ['12345678901', 'odd', 'bad']) await scene.keep('d', value)
    expect([await scene.ask('d'), ...scene.counts('entries', 'weight')]).toEqual(['loading', 2, 7])
  })

  test('random traffic over a small cache: never more than max, never heavier than mostWeight', async () => {
    const world = new VirtualRuntime({ seed: 9 })
    const random = seeded(4)
    const options: HotCacheOptions<number, number> = {
      ...{ load: (key) => key, ttl: '1s', max: 20, atLeast: 1, share: 0.0001, k: 50 },
      ...{ weigh: (value) => value, mostWeight: 100 },
    }
    const cache = hotCache(options, world)
    for (let i = 0; i < 3000; i++) {
      expect(await cache.get(Math.floor(random() * 50))).toBeTypeOf('number')
      if (i % 10 === 0) world.advance(random() * 200)
      const { entries, weight } = cache.inspect() as unknown as { entries: number; weight: number }
      expect(entries).toBeLessThanOrEqual(20)
      expect(weight).toBeLessThanOrEqual(100)
    }
    expect(world.timers).toBe(0)
  })
})

describe('stale values', () => {
  test('are given while one load runs, for so long and no longer', async () => {
    const scene = new Scene({ stale: '5s' })
    await scene.keep('a', 'v1')
    scene.world.advance('12s')
    expect([await scene.ask('a'), await scene.ask('a'), scene.loads]).toEqual(['hit v1', 'hit v1', 2])
    await scene.answer('v2')
    expect(await scene.ask('a')).toBe('hit v2')
    expect(scene.counts('stale', 'hits')).toEqual([2, 1])
    scene.world.advance('15s')
    expect(await scene.ask('a')).toBe('loading')
  })

  test('a source that fails is asked once a second, and the value serves on', async () => {
    const scene = new Scene({ stale: '5s' })
    await scene.keep('a', 'v1')
    scene.world.advance('10s')
    expect(await scene.ask('a')).toBe('hit v1')
    await scene.fail(new Error('down'))
    for (let i = 0; i < 9; i++) {
      scene.world.advance(100)
      expect(await scene.ask('a')).toBe('hit v1')
    }
    expect(scene.loads).toBe(2)
    scene.world.advance(100)
    expect([await scene.ask('a'), scene.loads]).toEqual(['hit v1', 3])
    await scene.fail(new Error('down'))
    scene.world.advance('4s')
    expect(await scene.ask('a')).toBe('loading')
  })
})

describe('errors', () => {
  test('are told to those who wait, and not kept', async () => {
    const scene = new Scene()
    const asked = scene.cache.get('a')
    const heard = expect(asked).rejects.toThrow('down')
    await scene.fail(new Error('down'))
    await heard
    expect([await scene.ask('a'), scene.loads]).toEqual(['loading', 2])
    expect(scene.counts('failures', 'entries')).toEqual([1, 0])
  })

  test('with negative they are told for so long without asking again, of hot keys only', async () => {
    const scene = new Scene({ negative: '1s', atLeast: 2 })
    for (let i = 0; i < 2; i++) {
      expect(await scene.ask('a')).toBe('loading')
      await scene.fail(new Error(`down ${i}`))
    }
    expect([await scene.ask('a'), scene.loads]).toEqual(['error down 1', 2])
    scene.world.advance('1s')
    expect(await scene.ask('a')).toBe('loading')
    await scene.answer('up')
    expect(await scene.ask('a')).toBe('hit up')
  })

  test('a load that throws at once is one that fails', async () => {
    const cache = hotCache<string, string>({ load: () => fails(), ttl: 1 }, new VirtualRuntime())
    await expect(cache.get('a')).rejects.toThrow('bad')
    expect(cache.inspect()).toMatchObject({ loading: 0, failures: 1 })
  })

  test('a load that hangs ends after within, is aborted, and what it says later changes nothing', async () => {
    const scene = new Scene({ within: '2s' })
    const heard = expect(scene.cache.get('a')).rejects.toThrow('[timeout] hotCache: no answer within 2s')
    await scene.world.advanceAsync('2s')
    await heard
    expect(scene.first.signal.aborted).toBe(true)
    await scene.answer('late')
    expect([await scene.ask('a'), ...scene.counts('entries')]).toEqual(['loading', 0])
  })
})

test('closed: who waits hears so, the load is aborted, nothing is left', async () => {
  const scene = new Scene()
  await scene.keep('a', 'v')
  const waiting = expect(scene.cache.get('b')).rejects.toMatchObject({ code: 'closed', path: 'hotCache' })
  const warming = scene.cache.warm(['c', 'd', 'e', 'f', 'g'])
  scene.cache.close()
  scene.cache.close()
  await waiting
  expect(await warming).toEqual({ warmed: 0, failed: 4, skipped: 1, left: 0 })
  expect(scene.pending.every(({ signal }) => signal.aborted)).toBe(true)
  await expect(scene.cache.get('a')).rejects.toThrow('[closed] refused by hotCache: it was closed')
  expect(await scene.cache.warm(['h'])).toEqual({ warmed: 0, failed: 0, skipped: 1, left: 0 })
  expect([scene.world.timers, ...scene.counts('loading', 'entries')]).toEqual([0, 0, 0])
})

test.each([
  [{ ttl: 0 }, 'hotCache.ttl: expected a span'],
  [{ jitter: 2 }, 'hotCache.jitter: expected a share from 0 to 1'],
  [{ max: 0 }, 'hotCache.max: expected a whole number from 1'],
  [{ k: 1001 }, 'hotCache.k: expected a whole number from 1 to 1000'],
  [{ load: 5 }, 'hotCache.load: expected a function'],
  [{ weigh: () => 1 }, 'hotCache.mostWeight: expected this field, beside weigh'],
  [{ mostWeight: 5 }, 'hotCache.weigh: expected this field, beside mostWeight'],
  [{ broadcast: {} }, 'hotCache.broadcast: expected an object with publish and subscribe'],
  [{ name: '' }, 'hotCache.name: expected a name'],
  [{ colour: 'red' }, 'hotCache.colour: expected no such field; known: load, ttl'],
])('options %o are refused', (wrong, message) => {
  const options = { load: () => 1, ttl: 1, ...wrong } as unknown as HotCacheOptions<string, number>
  expect(() => hotCache(options)).toThrow(message)
})

function fails(): never {
  throw new Error('bad')
}
