import { hotCache, type Warmed } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { expect, test } from 'vitest'
import { Scene } from './scene.ts'

/** A cache whose loads take 100 ms; `most` is how many ran at once. */
function slow(options: { readonly parallel?: number; readonly max?: number } = {}) {
  const world = new VirtualRuntime({ seed: 6 })
  const seen = { running: 0, most: 0, loads: 0, aborted: 0 }
  const load = (key: number, { signal }: { signal: AbortSignal }) => {
    seen.loads++
    seen.most = Math.max(seen.most, ++seen.running)
    signal.addEventListener('abort', () => seen.aborted++)
    return new Promise<number>((resolve, reject) => {
      world.after(100, () => {
        seen.running--
        if (key < 0) reject(new Error('no such key'))
        else resolve(key)
      })
    })
  }
  return { world, seen, cache: hotCache<number, number>({ load, ttl: '10s', jitter: 0.2, ...options }, world) }
}

test('a few loads at once; the result says what became of the keys, and progress says it after each', async () => {
  const { cache, world, seen } = slow({ parallel: 3 })
  const progress: Warmed[] = []
  const warming = cache.warm([1, 2, 3, -4, 5, 6, 7], '1m', { progress: (so) => progress.push(so) })
  await world.advanceAsync('1s')
  expect(await warming).toEqual({ warmed: 6, failed: 1, skipped: 0, left: 0 })
  expect([seen.most, progress.length]).toEqual([3, 7])
  expect(progress.map(({ left }) => left)).toEqual([6, 5, 4, 3, 2, 1, 0])
  expect(await cache.get(7)).toBe(7)
  expect([seen.loads, world.timers]).toEqual([7, 0])
})

test('two warm-ups share the few loads; a key that both want is loaded once', async () => {
  const { cache, world, seen } = slow({ parallel: 2 })
  const warmings = [cache.warm([1, 2, 3]), cache.warm([1, 3, 4])]
  await world.advanceAsync('1s')
  expect(await Promise.all(warmings)).toMatchObject([{ warmed: 3 }, { warmed: 3 }])
  expect([seen.most, seen.loads]).toEqual([2, 4])
})

test('warm keys are kept hot or not, for their ttl, and are not loaded again while they are fresh for long enough', async () => {
  const scene = new Scene({ atLeast: 1e6, ttl: '10s' })
  const first = scene.cache.warm(['a'], '1m')
  await scene.answer('v1')
  await first
  scene.world.advance('59s')
  expect(await scene.ask('a')).toBe('hit v1')
  expect(await scene.cache.warm(['a'], '1s')).toMatchObject({ warmed: 1 })
  expect(scene.loads).toBe(1)
  const longer = scene.cache.warm(['a'], '5s')
  await scene.answer('v2')
  await longer
  scene.world.advance('4999ms')
  expect([await scene.ask('a'), scene.loads]).toEqual(['hit v2', 2])
})

test('a key that somebody is loading is joined, and kept for the time of the warm-up', async () => {
  const scene = new Scene({ atLeast: 1e6 })
  const asked = scene.cache.get('a')
  const warming = scene.cache.warm(['a'], '1m')
  await scene.answer('v')
  expect([await asked, await warming, scene.loads]).toMatchObject(['v', { warmed: 1 }, 1])
  scene.world.advance('59s')
  expect(await scene.ask('a')).toBe('hit v')
})

test('a failing warm-up leaves what is there', async () => {
  const scene = new Scene()
  await scene.keep('a', 'v')
  const warming = scene.cache.warm(['a'], '1h')
  await scene.fail(new Error('down'))
  expect(await warming).toMatchObject({ warmed: 0, failed: 1 })
  expect(await scene.ask('a')).toBe('hit v')
})

test('what is invalidated while it is warmed has failed', async () => {
  const scene = new Scene()
  const warming = scene.cache.warm(['a'])
  scene.cache.invalidate('a')
  await scene.answer('old')
  expect(await warming).toMatchObject({ warmed: 0, failed: 1 })
})

test('aborted: what runs is given up, what waits is skipped', async () => {
  const { cache, world, seen } = slow({ parallel: 2 })
  const stop = new AbortController()
  const warming = cache.warm([1, 2, 3, 4, 5], '1m', { signal: stop.signal })
  await world.advanceAsync('50ms')
  stop.abort()
  expect(await warming).toEqual({ warmed: 0, failed: 2, skipped: 3, left: 0 })
  expect([seen.loads, seen.aborted]).toEqual([2, 2])
})

test('no more keys than max wait; a progress that throws stops nothing; no keys are done at once', async () => {
  const { cache, world } = slow({ max: 5 })
  const progress = () => {
    throw new Error('mine')
  }
  const warming = cache.warm([1, 2, 3, 4, 5, 6, 7], undefined, { progress })
  await world.advanceAsync('1s')
  expect(await warming).toEqual({ warmed: 5, failed: 0, skipped: 2, left: 0 })
  expect(await cache.warm([])).toEqual({ warmed: 0, failed: 0, skipped: 0, left: 0 })
})

test.each([
  ['is fresh already', true],
  ['has to be loaded', false],
])('a progress that closes the cache: every key has one fate, also when it %s', async (_, fresh) => {
  const { cache, world } = slow({ parallel: 2 })
  const keys = [1, 2, 3, 4, 5]
  if (fresh) {
    const warming = cache.warm(keys, '10m')
    await world.advanceAsync('1s')
    await warming
  }
  const told: Warmed[] = []
  const progress = (so: Warmed) => {
    told.push(so)
    cache.close()
  }
  const warming = cache.warm(keys, '1m', { progress })
  await world.advanceAsync('1s')
  const { warmed, failed, skipped, left } = await warming
  expect([warmed + failed + skipped, left]).toEqual([5, 0])
  expect(told.map((so) => so.left).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
})

test('a progress that warms more: what it adds has its turn', async () => {
  const { cache, world } = slow({ parallel: 1 })
  let more: Promise<Warmed> | undefined
  const first = cache.warm([1, 2], '1m', { progress: () => void (more ??= cache.warm([3, 4], '1m')) })
  await world.advanceAsync('1s')
  expect([await first, await more]).toMatchObject([{ warmed: 2 }, { warmed: 2, left: 0 }])
  expect(cache.inspect()).toMatchObject({ warming: 0, entries: 4 })
})

test('twenty thousand keys that are fresh already need no stack; a ttl that is none is refused', async () => {
  const { cache } = slow()
  const world = new VirtualRuntime()
  const instant = hotCache<number, number>({ load: (key) => key, ttl: '1m', max: 20_000 }, world)
  const keys = Array.from({ length: 20_000 }, (_, i) => i)
  await instant.warm(keys)
  expect(await instant.warm(keys, '30s')).toMatchObject({ warmed: 20_000 })
  expect(() => cache.warm([1], 'soon' as never)).toThrow('hotCache.warm.ttl: expected a span')
})
