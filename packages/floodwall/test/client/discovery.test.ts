import { Cluster, type Endpoint } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { type DiscoverOptions, type Discovery, discover, type Feed, fixed } from '../../src/client/index.ts'

/** A discovery in our hands. */
class ByHand implements Discovery {
  found: (endpoints: readonly Endpoint[]) => void = () => {}
  failed: (error: unknown) => void = () => {}
  closed = 0

  start(found: ByHand['found'], failed: ByHand['failed']): void {
    this.found = found
    this.failed = failed
  }

  close(): void {
    this.closed++
  }
}

function scene(options: DiscoverOptions = {}): {
  world: VirtualRuntime
  cluster: Cluster
  hand: ByHand
  feed: Feed
  ids: () => string[]
} {
  const world = new VirtualRuntime()
  const cluster = new Cluster({}, world.env('shop'))
  const hand = new ByHand()
  const feed = discover(cluster, hand, options, world)
  return { world, cluster, hand, feed, ids: () => cluster.members.map((m) => m.endpoint.id) }
}

const ab = [{ id: 'a' }, { id: 'b' }]

describe('discover', () => {
  test('the cluster is what was found last; kept endpoints keep their state', () => {
    const { hand, cluster, ids } = scene()
    hand.found(ab)
    cluster.isolate('b', undefined, 'the test says so')
    const [, b] = cluster.members
    hand.found([{ id: 'b', weight: 3 }, { id: 'c' }])
    expect(ids()).toEqual(['b', 'c'])
    expect(cluster.members[0]).toBe(b)
    expect(b).toMatchObject({ isolated: true, weight: 3 })
  })

  test.each<[string, (hand: ByHand) => void, string]>([
    ['an error', (hand) => hand.failed(new Error('the registry is down')), 'the registry is down'],
    ['an error that is none', (hand) => hand.failed('ECONNREFUSED'), 'ECONNREFUSED'],
    ['an empty answer', (hand) => hand.found([]), 'the answer is empty'],
    ['no list', (hand) => hand.found('a,b' as never), 'a list of endpoints'],
    ['an endpoint without id', (hand) => hand.found([{ id: 'a' }, {} as never]), 'endpoints[1].id'],
    ['an id with a space', (hand) => hand.found([{ id: 'a b' }]), 'endpoints[0].id'],
    ['a negative weight', (hand) => hand.found([{ id: 'a', weight: -1 }]), 'endpoints[0].weight'],
    ['too many', (hand) => hand.found(Array.from({ length: 10_001 }, (_, i) => ({ id: `${i}` }))), 'at most 10000'],
  ])('%s leaves the last good list for ten minutes, then it is emptied, and both are told', (_, spoil, fault) => {
    const { world, hand, feed, ids } = scene()
    hand.found(ab)
    spoil(hand)
    world.advance(300_000)
    spoil(hand)
    world.advance(299_999)
    expect(ids()).toEqual(['a', 'b'])
    expect(feed.inspect()).toMatchObject({ state: 'kept', lists: 1, failures: 2, sinceMs: 599_999 })
    world.advance(1)
    expect(ids()).toEqual([])
    const told = world.events.filter((e) => e.path === 'shop/discovery')
    expect(told).toMatchObject([
      { type: 'state', from: 'waiting', to: 'fresh' },
      { type: 'state', from: 'fresh', to: 'kept', why: expect.stringContaining(fault) },
      { type: 'state', from: 'kept', to: 'emptied', why: expect.stringContaining('no good answer for 10m') },
    ])
    expect(world.timers).toBe(0)
  })

  test('a good answer in between begins the time anew, and one after it fills the cluster again', () => {
    const { world, hand, ids, feed } = scene({ keepFor: '1m' })
    hand.found(ab)
    hand.failed(new Error('down'))
    world.advance(59_000)
    hand.found(ab)
    hand.failed(new Error('down'))
    world.advance(59_000)
    expect(ids()).toEqual(['a', 'b'])
    world.advance(1000)
    expect(ids()).toEqual([])
    hand.failed(new Error('down still'))
    hand.found([{ id: 'c' }])
    expect(ids()).toEqual(['c'])
    expect(feed.inspect()).toMatchObject({ state: 'fresh', fault: '' })
  })

  test('nothing found yet: told once, and ready waits', async () => {
    const { world, hand, feed } = scene()
    let ready = false
    void feed.ready.then(() => {
      ready = true
    })
    for (let i = 0; i < 5; i++) hand.failed(new Error('down'))
    await world.settle()
    expect(ready).toBe(false)
    expect(world.events).toMatchObject([{ type: 'warning', why: 'no endpoints are known yet: down' }])
    hand.found(ab)
    await feed.ready
  })

  test('close() ends it: nothing is heard any more, the list stays, nobody waits', async () => {
    const { world, hand, feed, ids } = scene()
    hand.found(ab)
    hand.failed(new Error('down'))
    feed.close()
    feed.close()
    expect(hand.closed).toBe(1)
    expect(world.timers).toBe(0)
    hand.found([{ id: 'c' }])
    hand.failed(new Error('down'))
    world.advance(3_600_000)
    expect(ids()).toEqual(['a', 'b'])
    const waiting = scene()
    waiting.feed.close()
    await waiting.feed.ready
  })

  test('a discovery that throws when it starts is a failing one', () => {
    const world = new VirtualRuntime()
    const cluster = new Cluster({}, world.env('shop'))
    const start = () => {
      throw new Error('no such registry')
    }
    const feed = discover(cluster, { start, close() {} }, {}, world)
    expect(feed.inspect()).toMatchObject({ state: 'waiting', fault: 'no such registry' })
  })

  test('further fields of a program are its own, and repeated ids count once', () => {
    const { hand, cluster } = scene()
    hand.found([{ id: 'a', rack: 7 } as Endpoint, { id: 'a', weight: 9 }])
    expect(cluster.members.map((m) => m.endpoint)).toEqual([{ id: 'a', rack: 7 }])
  })

  test('bad options are refused', () => {
    expect(() => scene({ keepFor: 0 })).toThrow(/discover\.keepFor/)
  })
})

describe('fixed', () => {
  test('ids and endpoints', () => {
    const { world, cluster } = scene()
    discover(cluster, fixed(['10.0.0.1:80', { id: 'b', weight: 2, zone: 'z' }, 'b']), {}, world)
    expect(cluster.members.map((m) => m.endpoint)).toEqual([{ id: '10.0.0.1:80' }, { id: 'b', weight: 2, zone: 'z' }])
  })

  test.each<[unknown, RegExp]>([
    [[{ id: 'a', wieght: 2 }], /fixed\[0\]/],
    [['a b'], /fixed\[0\]/],
    [[7], /fixed\[0\]: expected an endpoint/],
    ['a', /fixed: expected a list of endpoints/],
  ])('%j is refused', (list, message) => {
    expect(() => fixed(list as never)).toThrow(message)
  })
})
