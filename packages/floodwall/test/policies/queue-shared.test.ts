import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import {
  breaker,
  bulkhead,
  type Env,
  gate,
  type Layer,
  type Pipeline,
  pipeline,
  queue,
  Semaphore,
  type Shared,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, fateOf, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// Waiting rooms of several pipelines before one gate.

/** The gate called `name`, whoever makes it first. */
function sharedSlots(name: string, slots: number): Layer {
  return {
    kind: 'bulkhead',
    options: { name, slots },
    build: (env: Env) => env.share(name, () => new Semaphore({ slots }, env)),
  }
}

type Rooms = [world: VirtualRuntime, a: Pipeline, b: Pipeline, slots: Semaphore]

const ways: [string, (slots: number) => Rooms][] = [
  [
    'gate(shared)',
    (n) => {
      const world = new VirtualRuntime()
      const slots = new Semaphore({ slots: n }, world.env('slots'))
      const make = (name: string) => pipeline(name, [queue({ atMost: '10s' }), gate(slots)], { runtime: world })
      return [world, make('a'), make('b'), slots]
    },
  ],
  [
    'env.share',
    (n) => {
      const world = new VirtualRuntime()
      const shared: Shared = new Map()
      const make = (name: string) =>
        pipeline(name, [queue({ atMost: '10s' }), sharedSlots('database', n)], { runtime: world, shared })
      const [a, b] = [make('a'), make('b')]
      return [world, a, b, shared.get('database') as Semaphore]
    },
  ],
]

describe.each(ways)('two pipelines that meet by %s', (_, rooms) => {
  test('have the slots between them, and one wakes the other’s waiters', async () => {
    const [world, a, b, slots] = rooms(1)
    const held = fateOf(a.call(takes(world, 100, 'a')), world)
    const waits = fateOf(b.call(takes(world, 10, 'b')), world)
    expect([slots.available, leftIn(world, b).waiting]).toEqual([0, 1])
    await world.advanceAsync(110)
    expect([held.at, waits.value, waits.at]).toEqual([100, 'b', 110])
    expect([slots.available, leftIn(world, a, b), slots.inspect()['rooms']]).toEqual([1, NOTHING, 0])
  })

  test('take turns: a busy room does not starve the other', async () => {
    const [world, a, b] = rooms(1)
    const order: string[] = []
    const enter = (p: Pipeline, name: string) => void fateOf(p.call(() => (order.push(name), takes(world, 10, 1)())))
    for (let i = 0; i < 20; i++) enter(a, 'a')
    for (let i = 0; i < 5; i++) enter(b, 'b')
    await world.advanceAsync(100)
    const firstTen = order.slice(1, 11)
    expect(firstTen.filter((name) => name === 'b').length).toBe(5)
    await world.advanceAsync(1000)
    expect([order.length, leftIn(world, a, b)]).toEqual([25, NOTHING])
  })

  test('synchronous work in both rooms is done to the end, without recursion', () => {
    const [world, a, b, slots] = rooms(1)
    const done: string[] = []
    const held = slots.tryAcquire()
    for (let i = 0; i < 50; i++)
      for (const p of [a, b])
        p.start(
          (_call, end) => end({ ...OK }),
          () => done.push(p.path),
        )
    if (held.ok) held.cancel(0)
    expect([done.length, slots.available, leftIn(world, a, b)]).toEqual([100, 1, NOTHING])
  })

  test('one that is closed leaves the other’s waiters in peace', async () => {
    const [world, a, b, slots] = rooms(1)
    const held = fateOf(b.call(takes(world, 10, 1)))
    const [mine, theirs] = [fateOf(a.call(() => 1)), fateOf(b.call(() => 2))]
    a.close()
    await world.advanceAsync(10)
    expect([held.state, codeOf(mine), theirs.value, slots.available]).toEqual(['answered', 'closed', 2, 1])
  })
})

const OK = {
  ok: true,
  value: 1,
  error: undefined,
  verdict: 'success',
  ran: true,
  rejection: undefined,
  retryAfterMs: 0,
  noRetry: false,
} as const

test('no probe waits: an open breaker refuses who is woken, and the slot goes to the next room', async () => {
  const world = new VirtualRuntime()
  const slots = new Semaphore({ slots: 1 }, world.env('slots'))
  const sick = pipeline('sick', [queue(), breaker({ consecutive: 1, openFor: '10s', jitter: 0 }), gate(slots)], {
    runtime: world,
  })
  const well = pipeline('well', [queue(), gate(slots)], { runtime: world })
  const failing = fateOf(
    sick.call(() => new Promise((_, reject) => void world.after(50, () => reject(new Error('down'))))),
  )
  const waiting = [fateOf(sick.call(() => 1)), fateOf(sick.call(() => 1))]
  const theirs = fateOf(
    well.call(() => 'well'),
    world,
  )
  expect(layerOf(sick, 'breaker')['probes']).toMatchObject({ running: 0 })
  await world.advanceAsync(50)
  expect([failing.state, waiting.map(codeOf), theirs.value, theirs.at]).toEqual([
    'failed',
    ['open', 'open'],
    'well',
    50,
  ])
  expect([leftIn(world, sick, well), slots.available]).toEqual([NOTHING, 1])
})

test('a waiter that needs two gates takes neither until it has both', async () => {
  const world = new VirtualRuntime()
  const [x, y] = [new Semaphore({ slots: 1 }, world.env('x')), new Semaphore({ slots: 1 }, world.env('y'))]
  const both = pipeline('both', [queue({ atMost: '1s' }), gate(x), gate(y)], { runtime: world })
  const xs = pipeline('xs', [gate(x)], { runtime: world })
  const ys = pipeline('ys', [gate(y)], { runtime: world })
  const [holdX, holdY] = [fateOf(xs.call(takes(world, 100, 1))), fateOf(ys.call(takes(world, 200, 1)))]
  const waiter = fateOf(
    both.call(() => 'both'),
    world,
  )
  await world.advanceAsync(100)
  // x is free again, and waits for nobody.
  expect([x.available, waiter.state, holdX.state]).toEqual([1, 'pending', 'answered'])
  await world.advanceAsync(100)
  expect([waiter.value, waiter.at, holdY.state, leftIn(world, both, xs, ys)]).toEqual([
    'both',
    200,
    'answered',
    NOTHING,
  ])
})

test('two rooms that want the same two gates in opposite order do not lock each other', async () => {
  const world = new VirtualRuntime()
  const [x, y] = [new Semaphore({ slots: 1 }, world.env('x')), new Semaphore({ slots: 1 }, world.env('y'))]
  const xy = pipeline('xy', [queue({ atMost: '100s', size: 200 }), gate(x), gate(y)], { runtime: world })
  const yx = pipeline('yx', [queue({ atMost: '100s', size: 200 }), gate(y), gate(x)], { runtime: world })
  const fates = Array.from({ length: 100 }, (_, i) => fateOf((i % 2 === 0 ? xy : yx).call(takes(world, 10, i))))
  await world.advanceAsync('2s')
  expect([fates.every((f) => f.state === 'answered'), x.available, y.available, leftIn(world, xy, yx)]).toEqual([
    true,
    1,
    1,
    NOTHING,
  ])
})

test('a gate that outlives the rooms before it does not keep them', async () => {
  const world = new VirtualRuntime()
  const slots = new Semaphore({ slots: 1 }, world.env('slots'))
  const held = slots.tryAcquire()
  for (let i = 0; i < 100; i++) {
    const p = pipeline(`p${i}`, [queue({ atMost: 10 }), gate(slots)], { runtime: world })
    void fateOf(p.call(() => 1))
    if (i % 2 === 0) p.close()
  }
  await world.advanceAsync(10)
  expect([slots.inspect()['rooms'], world.timers, held.ok]).toEqual([0, 0, true])
})

describe('on the real runtime', () => {
  test('who waits resumes in his own async context, not in that of who made room', async () => {
    const als = new AsyncLocalStorage<string>()
    const slots = new Semaphore({ slots: 1 })
    const [a, b] = ['a', 'b'].map((name) => pipeline(name, [queue(), gate(slots)])) as [Pipeline, Pipeline]
    const seen: [string, string | undefined, string | undefined][] = []
    const visit = (p: Pipeline, name: string) =>
      als.run(name, () =>
        p.call(async () => {
          const before = als.getStore()
          await wait(1)
          seen.push([name, before, als.getStore()])
        }),
      )
    const visits = [visit(a, 'one'), visit(a, 'two'), visit(b, 'three'), visit(a, 'four')]
    const outside = a.call(() => void seen.push(['nobody', als.getStore(), als.getStore()]))
    await Promise.all([...visits, outside])
    expect(seen.sort(([a], [b]) => a.localeCompare(b))).toEqual([
      ['four', 'four', 'four'],
      ['nobody', undefined, undefined],
      ['one', 'one', 'one'],
      ['three', 'three', 'three'],
      ['two', 'two', 'two'],
    ])
    expect(leftIn(undefined, a, b)).toEqual(NOTHING)
  })
})

test('the slots of a bulkhead that grows go to those who wait', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue(), bulkhead({ slots: 1 })], { runtime: world })
  const order: number[] = []
  for (let i = 0; i < 5; i++) void fateOf(p.call(() => (order.push(i), takes(world, 100, i)())))
  expect(order).toEqual([0])
  p.reload([queue(), bulkhead({ slots: 3 })])
  expect(order).toEqual([0, 1, 2])
  await world.advanceAsync(200)
  expect([order, leftIn(world, p)]).toEqual([[0, 1, 2, 3, 4], NOTHING])
})
