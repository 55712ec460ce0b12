import { type Broadcast, type HotCacheOptions, hotCache, localBroadcast, localTable } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

const TOPIC = 'floodwall/hotCache/items'

/** Two caches of one name, as in two processes, over one source. */
function pair(broadcast: Broadcast, more: Partial<HotCacheOptions<string, string>> = {}) {
  const world = new VirtualRuntime({ seed: 4 })
  const loads: string[] = []
  const make = (process: string) =>
    hotCache<string, string>(
      {
        load: (key) => {
          loads.push(`${process} ${key}`)
          return `${key}@${loads.length}`
        },
        ...{ ttl: '1m', atLeast: 1, share: 0.001, name: 'items', broadcast, ...more },
      },
      world,
    )
  return { world, loads, one: make('one'), two: make('two') }
}

describe('the local broadcast', () => {
  test('reaches those of the topic, in order; who stops hears no more, twice is harmless', () => {
    const bus = localBroadcast()
    const heard: string[] = []
    const stop = bus.subscribe('a', (message) => heard.push(`1 ${String(message)}`))
    bus.subscribe('a', (message) => heard.push(`2 ${String(message)}`))
    bus.subscribe('b', (message) => heard.push(`3 ${String(message)}`))
    bus.publish('a', 'x')
    stop()
    stop()
    bus.publish('a', 'y')
    bus.publish('c', 'z')
    expect(heard).toEqual(['1 x', '2 x', '2 y'])
  })

  test('a listener that throws harms nobody', () => {
    const bus = localBroadcast()
    const heard: unknown[] = []
    bus.subscribe('a', () => fails())
    bus.subscribe('a', (message) => heard.push(message))
    bus.publish('a', 1)
    expect([heard, bus.failures]).toEqual([[1], 1])
  })

  test('one function that has subscribed twice is two listeners; nothing is left when all have stopped', () => {
    const bus = localBroadcast()
    let heard = 0
    const listener = () => heard++
    const stops = [bus.subscribe('a', listener), bus.subscribe('a', listener)]
    bus.publish('a', 1)
    for (const stop of stops) stop()
    bus.publish('a', 1)
    expect([heard, bus.size]).toEqual([2, 0])
  })
})

describe('hot caches', () => {
  test('invalidate is heard everywhere, and answered by nobody', async () => {
    const bus = localBroadcast()
    const { one, two, loads } = pair(bus)
    let messages = 0
    bus.subscribe(TOPIC, () => messages++)
    await Promise.all([one.get('a'), two.get('a')])
    one.invalidate('a', 'b')
    await Promise.all([one.get('a'), two.get('a')])
    expect(loads).toEqual(['one a', 'two a', 'one a', 'two a'])
    expect(messages).toBe(1)
    expect(one.inspect()['broadcast']).toEqual({ said: 1, heard: 0, malformed: 0, unsaid: 0 })
    expect(two.inspect()['broadcast']).toEqual({ said: 0, heard: 1, malformed: 0, unsaid: 0 })
  })

  test.each([
    ['a text that is too long', 'x'.repeat(1001)],
    ['NaN', Number.NaN],
  ])('%s is told to nobody, and counted; the others of its call are told all the same', async (_, odd) => {
    const bus = localBroadcast()
    const { one, two, loads, world } = pair(bus)
    await Promise.all([one.get('a'), two.get('a')])
    one.invalidate(odd as string, 'a')
    await one.warm([odd as string, 'b'], '1m', { everywhere: true })
    await world.settle()
    await Promise.all([two.get('a'), two.get('b')])
    expect(loads.filter((load) => load.startsWith('two'))).toEqual(['two a', 'two b', 'two a'])
    expect(one.inspect()['broadcast']).toEqual({ said: 2, heard: 0, malformed: 0, unsaid: 2 })
    // Once: strangers may choose the keys.
    expect(world.events.filter(({ type }) => type === 'warning')).toMatchObject([
      { path: TOPIC, why: expect.stringContaining('texts of at most 1000 characters') },
    ])
  })

  test('warm everywhere: each loads for itself; more keys than a message holds go in several', async () => {
    const bus = localBroadcast()
    const { one, two, world } = pair(bus, { max: 3000 })
    const keys = Array.from({ length: 2500 }, (_, i) => `k${i}`)
    expect(await one.warm(keys, '5m', { everywhere: true })).toMatchObject({ warmed: 2500 })
    await world.settle()
    expect([one, two].map((cache) => cache.inspect()['entries'])).toEqual([2500, 2500])
    expect(two.inspect()['broadcast']).toMatchObject({ heard: 3 })
  })

  test.each([
    null,
    'invalidate',
    42,
    [],
    {},
    { do: 'invalidate', keys: ['a'] },
    { from: 'x', do: 'explode' },
    { from: 'x', do: 'invalidate', keys: [] },
    { from: 'x', do: 'invalidate', keys: 'a' },
    { from: 'x', do: 'invalidate', keys: [{}] },
    { from: 'x', do: 'invalidate', keys: [Number.NaN] },
    { from: 'x', do: 'invalidate', keys: ['x'.repeat(1001)] },
    { from: 'x', do: 'invalidate', keys: new Array(1001).fill('a') },
    { from: 'x', do: 'invalidate', keys: ['a'], more: 1 },
    { from: 'x'.repeat(65), do: 'invalidate', keys: ['a'] },
    { from: 'x', do: 'warm', keys: ['a'] },
    { from: 'x', do: 'warm', keys: ['a'], ttlMs: 0 },
    { from: 'x', do: 'warm', keys: ['a'], ttlMs: Number.POSITIVE_INFINITY },
    { from: 'x', do: 'warm', keys: ['a'], ttlMs: 1e12 },
  ])('a malformed message changes nothing and is counted: %j', async (message) => {
    const bus = localBroadcast()
    const { one, loads } = pair(bus)
    await one.get('a')
    bus.publish(TOPIC, message)
    await one.get('a')
    expect(loads).toEqual(['one a'])
    expect(one.inspect()['broadcast']).toMatchObject({ heard: 0, malformed: 1 })
  })

  test('a broadcast that throws or rejects changes nothing here; one warning for a row of failures', async () => {
    let broken = true
    const publish = (_: string, message: unknown) => {
      const { keys } = message as { keys: string[] }
      if (!broken) return
      if (keys[0] === 'a') throw new Error('no connection')
      return Promise.reject(new Error('cut'))
    }
    const { one, world } = pair({ publish, subscribe: () => () => {} } as Broadcast)
    for (const key of ['a', 'b', 'a']) one.invalidate(key)
    await world.settle()
    expect(world.events).toMatchObject([{ type: 'warning', why: 'the others were not told: no connection' }])
    expect(one.inspect()['broadcast']).toMatchObject({ said: 0, unsaid: 3 })
    broken = false
    one.invalidate('a')
    broken = true
    one.invalidate('a')
    expect([one.inspect()['broadcast'], world.events.length]).toMatchObject([{ said: 1, unsaid: 4 }, 2])
  })

  test('what the others would not understand is not sent, and a warning says so', async () => {
    const bus = localBroadcast()
    const { one, two, world } = pair(bus)
    await one.warm(['a'], '30d', { everywhere: true })
    expect(one.inspect()).toMatchObject({ entries: 1, broadcast: { said: 0, unsaid: 1 } })
    expect(two.inspect()).toMatchObject({ entries: 0, broadcast: { heard: 0, malformed: 0 } })
    expect(world.events).toMatchObject([{ type: 'warning', why: expect.stringContaining('no message that large') }])
  })

  test('a closed cache hears nothing, and leaves no subscription', () => {
    const bus = localBroadcast()
    const { one, two } = pair(bus)
    one.close()
    two.invalidate('a')
    expect(one.inspect()['broadcast']).toMatchObject({ heard: 0 })
    two.close()
    expect(bus.size).toBe(0)
  })
})

test('caches and tables of one name do not hear each other', async () => {
  const bus = localBroadcast()
  const world = new VirtualRuntime()
  const table = localTable<string, number>({ load: () => [], name: 'items', broadcast: bus }, world)
  const { one } = pair(bus)
  await table.ready
  one.invalidate('a')
  await Promise.all([table.refresh({ everywhere: true }), world.settle()])
  expect(one.inspect()['broadcast']).toEqual({ said: 1, heard: 0, malformed: 0, unsaid: 0 })
  expect(table.inspect()['broadcast']).toEqual({ said: 1, heard: 0, malformed: 0, unsaid: 0 })
})

function fails(): never {
  throw new Error('bad')
}
