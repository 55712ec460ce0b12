import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Scene } from './scene.ts'

describe('one load', () => {
  test('ten thousand who ask for one key in one moment cause one load, and all hear the same', async () => {
    const scene = new Scene<object>()
    const value = {}
    const asked = Array.from({ length: 10_000 }, () => scene.cache.get('a'))
    expect(scene.loads).toBe(1)
    await scene.answer(value)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([value]))
    expect(scene.counts('misses', 'coalesced', 'loads')).toEqual([10_000, 9_999, 1])
  })

  test('of a key that nobody finds hot too', async () => {
    const scene = new Scene({ atLeast: 1000 })
    const asked = [1, 2, 3].map(() => scene.cache.get('a'))
    await scene.answer('v')
    expect([await Promise.all(asked), scene.loads]).toEqual([['v', 'v', 'v'], 1])
  })

  test('who leaves takes nobody with him; with the last one the load is aborted, and later askers have one of their own', async () => {
    const scene = new Scene()
    const [one, two] = [new AbortController(), new AbortController()]
    const first = expect(scene.cache.get('a', { signal: one.signal })).rejects.toThrow('one left')
    const second = expect(scene.cache.get('a', { signal: two.signal })).rejects.toThrow('two left')
    one.abort(new Error('one left'))
    await first
    expect(scene.first.signal.aborted).toBe(false)
    two.abort(new Error('two left'))
    await second
    expect([scene.first.signal.aborted, scene.world.timers]).toEqual([true, 0])
    const third = scene.cache.get('a')
    expect(scene.loads).toBe(2)
    await scene.answer('late answer of the aborted one')
    await scene.answer('new')
    expect(await third).toBe('new')
  })

  test('who has a signal and is answered leaves no listener behind', async () => {
    const scene = new Scene()
    const { signal } = new AbortController()
    let listeners = 0
    const { addEventListener, removeEventListener } = signal
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++
      addEventListener.apply(signal, args)
    }
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--
      removeEventListener.apply(signal, args)
    }
    const asked = [scene.cache.get('a', { signal }), scene.cache.get('a', { signal })]
    expect(listeners, 'one for all that came with it').toBe(1)
    await scene.answer('v')
    await Promise.all(asked)
    expect(listeners).toBe(0)
  })

  test('ten thousand who came with one signal leave together, and none of them is left', async () => {
    const scene = new Scene()
    const all = new AbortController()
    const asked = Array.from({ length: 10_000 }, () => scene.cache.get('a', { signal: all.signal }))
    const stays = scene.cache.get('a')
    all.abort(new Error('all left'))
    const ends = await Promise.allSettled(asked)
    expect(ends.every((end) => end.status === 'rejected' && end.reason === all.signal.reason)).toBe(true)
    await scene.answer('v')
    expect([await stays, scene.loads]).toEqual(['v', 1])
  })

  test('a signal that is aborted already asks nobody', async () => {
    const scene = new Scene()
    await expect(scene.cache.get('a', { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone')
    expect(scene.loads).toBe(0)
  })

  test('a stale value is refilled to the end, whoever leaves', async () => {
    const scene = new Scene({ stale: '1m' })
    await scene.keep('a', 'v1')
    scene.world.advance('10s')
    expect(await scene.ask('a')).toBe('hit v1')
    const leaver = new AbortController()
    expect(await scene.cache.get('a', { signal: leaver.signal })).toBe('v1')
    leaver.abort()
    expect(scene.first.signal.aborted).toBe(false)
    await scene.answer('v2')
    expect(await scene.ask('a')).toBe('hit v2')
  })
})

describe.each(['delete', 'invalidate', 'clear'] as const)('%s while a load runs', (verb) => {
  const forget = ({ cache }: Scene) => (verb === 'clear' ? cache.clear() : cache[verb]('a'))

  test('wins: who waited hears the old answer, it is not kept, and who comes now has a load of his own', async () => {
    const scene = new Scene()
    const before = scene.cache.get('a')
    forget(scene)
    const after = scene.cache.get('a')
    expect(scene.loads).toBe(2)
    await scene.answer('old')
    expect(await before).toBe('old')
    expect(await scene.ask('a')).toBe('loading')
    await scene.answer('new')
    expect([await after, await scene.ask('a'), scene.loads]).toEqual(['new', 'hit new', 2])
  })

  test('a slow load does not overwrite what a later one has brought', async () => {
    const scene = new Scene()
    const before = scene.cache.get('a')
    const slow = scene.first
    scene.pending.shift()
    forget(scene)
    await scene.keep('a', 'new')
    slow.answer('old')
    expect(await before).toBe('old')
    expect(await scene.ask('a')).toBe('hit new')
  })

  test('its error is no error of the later one', async () => {
    const scene = new Scene({ negative: '1m' })
    const heard = expect(scene.cache.get('a')).rejects.toThrow('old')
    const slow = scene.first
    scene.pending.shift()
    forget(scene)
    await scene.keep('a', 'new')
    slow.fail(new Error('old'))
    await heard
    expect(await scene.ask('a')).toBe('hit new')
  })
})

type Move =
  | { readonly do: 'ask' | 'write' | 'forget' | 'fail' }
  | { readonly do: 'end' | 'leave'; readonly which: number }
  | { readonly do: 'wait'; readonly ms: number }

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'ask' as const }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom({ do: 'write' as const }, { do: 'fail' as const }, { do: 'forget' as const }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'leave' as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 9000 }) }) },
)

test('any interleaving: who asks after a write was announced never sees an older value, and nothing is left behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 40 }), async (moves) => {
      const scene = new Scene<number>({ stale: '5s' })
      const { cache, world, pending } = scene
      const asked: Promise<unknown>[] = []
      const leavers: AbortController[] = []
      // What the source holds, and what each load has read of it when it began.
      let stored = 0
      const read = new Map<object, number>()
      const note = () => {
        for (const load of pending) if (!read.has(load)) read.set(load, stored)
      }
      for (const now of moves) {
        if (now.do === 'write') {
          stored++
          cache.invalidate('a')
        } else if (now.do === 'forget') cache.delete('a')
        else if (now.do === 'wait') await world.advanceAsync(now.ms)
        else if (now.do === 'leave') leavers[now.which % Math.max(1, leavers.length)]?.abort(new Error('left'))
        else if (now.do === 'fail') pending.shift()?.fail(new Error('down'))
        else if (now.do === 'end') {
          const [load] = pending.splice(now.which % Math.max(1, pending.length), 1)
          load?.answer(read.get(load) as number)
        } else {
          const least = stored
          const leaver = new AbortController()
          leavers.push(leaver)
          const checked = cache.get('a', { signal: leaver.signal }).then(
            (value) => expect(value).toBeGreaterThanOrEqual(least),
            (error: Error) => expect(error.message).toMatch(/^(left|down|\[timeout\])/),
          )
          asked.push(checked)
        }
        note()
        await world.settle()
      }
      const { entries, loading } = cache.inspect() as unknown as { entries: number; loading: number }
      expect(entries).toBeLessThanOrEqual(1)
      expect(world.timers).toBe(loading)
      await world.advanceAsync('10s')
      await Promise.all(asked)
      expect([cache.inspect()['loading'], world.timers]).toEqual([0, 0])
    }),
    { seed: 11, numRuns: 150 },
  )
})
