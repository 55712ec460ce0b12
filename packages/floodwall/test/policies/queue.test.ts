import { answered, bulkhead, deadline, pipeline, queue, rateLimit, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// A waiting room before the gates that follow it.

function room(options: Parameters<typeof queue>[0] = {}, slots = 1) {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue(options), bulkhead({ slots })], { runtime: world })
  const order: unknown[] = []
  const enter = (name: unknown, ms = 100, init = {}): Fate =>
    fateOf(
      p.call(() => {
        order.push(name)
        return takes(world, ms, name)()
      }, init),
      world,
    )
  return { world, p, order, enter, waiting: () => layerOf(p, 'queue')['waiting'] }
}

describe('who waits', () => {
  test('goes when a slot comes free, longest waiting first', async () => {
    const { world, p, order, enter } = room()
    const fates = ['a', 'b', 'c', 'd'].map((name) => enter(name))
    await world.advanceAsync(400)
    expect(order).toEqual(['a', 'b', 'c', 'd'])
    expect(fates.map((f) => f.at)).toEqual([100, 200, 300, 400])
    expect([layerOf(p, 'queue'), leftIn(world, p)]).toMatchObject([{ admitted: 3, timedOut: 0, waiting: 0 }, NOTHING])
  })

  test('in lifo order the newest goes first', async () => {
    const { world, order, enter } = room({ order: 'lifo' })
    for (const name of ['a', 'b', 'c', 'd']) enter(name)
    await world.advanceAsync(400)
    expect(order).toEqual(['a', 'd', 'c', 'b'])
  })

  test('is not overtaken by somebody who comes when a slot is free', async () => {
    const { world, p, order } = room()
    const done = (name: string) => () => void order.push(`${name} ended`)
    let release: (() => void) | undefined
    p.start((_, end) => (release = () => end(answered(1))), done('a'))
    p.start((_, end) => (order.push('b'), end(answered(1))), done('b'))
    // While b is being woken the slot is free, and c comes: it goes behind d, who waits.
    p.start((_, end) => {
      order.push('d')
      end(answered(1))
    }, done('d'))
    release?.()
    p.start((_, end) => (order.push('c'), end(answered(1))), done('c'))
    expect(order).toEqual(['b', 'b ended', 'd', 'd ended', 'a ended', 'c', 'c ended'])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('who comes from inside a woken work goes behind those who wait', async () => {
    const { world, p, order, enter } = room({}, 1)
    enter('a')
    const b = fateOf(
      p.call(() => {
        order.push('b')
        enter('from b')
        return 'b'
      }),
    )
    enter('c')
    await world.advanceAsync(400)
    expect([b.value, order]).toEqual(['b', ['a', 'b', 'c', 'from b']])
  })

  test('leaves by abort, and the place is free at once', async () => {
    const { world, enter, waiting, order } = room({ size: 1 })
    enter('a')
    const aborter = new AbortController()
    const b = enter('b', 100, { signal: aborter.signal })
    expect(codeOf(await settled(enter('too many'), world))).toBe('queue-full')
    aborter.abort('left')
    await world.settle()
    expect([b.value, waiting()]).toEqual(['left', 0])
    const c = enter('c')
    await world.advanceAsync(200)
    expect([c.value, order]).toEqual(['c', ['a', 'c']])
  })

  test('leaves by deadline, its own or the pipeline’s', async () => {
    const { world, p, enter } = room({ atMost: '10s' })
    const d = pipeline('d', [deadline({ within: 50 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    enter('a', 1000)
    const b = enter('b', 1, { within: 70 })
    void fateOf(d.call(takes(world, 40, 1)))
    const c = fateOf(
      d.call(() => takes(world, 40, 1)()),
      world,
    )
    void fateOf(d.call(() => 1))
    await world.advanceAsync(1000)
    expect([codeOf(b), b.at, codeOf(c), c.at]).toEqual(['deadline', 70, 'deadline', 50])
    expect(leftIn(world, p, d)).toEqual(NOTHING)
  })

  test('waits no longer than it may; the time that work takes is not waiting', async () => {
    const { world, p, enter } = room({ atMost: 150 })
    const [a, b, c] = [enter('a', 100), enter('b', 1000), enter('c', 1)]
    await world.advanceAsync(1100)
    expect([a.value, b.value, b.at]).toEqual(['a', 'b', 1100])
    expect([codeOf(c), c.at, c.value]).toMatchObject([
      'queue-timeout',
      150,
      { message: '[queue-timeout] refused by p/queue: waited 150ms for a slot' },
    ])
    expect([layerOf(p, 'queue')['timedOut'], leftIn(world, p)]).toEqual([1, NOTHING])
  })

  test('a timeout further out does not end running work’s slot, nor the waiting of others', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [timeout({ after: 100 }), queue({ atMost: '10s' }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    const a = fateOf(p.call(takes(world, 150, 'late')), world)
    await world.advanceAsync(60)
    const b = fateOf(p.call(takes(world, 5, 'b')), world)
    await world.advanceAsync(200)
    expect([codeOf(a), a.at, b.value, b.at, leftIn(world, p)]).toEqual(['timeout', 100, 'b', 155, NOTHING])
  })
})

describe('who does not wait', () => {
  test('who finds the room full: refused at once, with the numbers', async () => {
    const { world, p, enter } = room({ size: 2 })
    for (const name of ['a', 'b', 'c']) enter(name)
    const d = enter('d')
    await world.settle()
    expect(d.value).toMatchObject({
      code: 'queue-full',
      path: 'p/queue',
      message: '[queue-full] refused by p/queue: 2 wait already, in 2 places',
    })
    await world.advanceAsync(1000)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('who is refused by a gate that frees nothing: a rate, an open breaker, no slots at all', async () => {
    const world = new VirtualRuntime()
    const rate = pipeline('rate', [queue(), rateLimit({ rate: 1 })], { runtime: world })
    const none = pipeline('none', [queue(), bulkhead({ slots: 0 })], { runtime: world })
    await rate.outcome(() => 1)
    expect(await rate.outcome(() => 1)).toMatchObject({ rejection: { reason: 'rate' } })
    expect(await none.outcome(() => 1)).toMatchObject({ rejection: { reason: 'full', never: true } })
    expect(leftIn(world, rate, none)).toEqual(NOTHING)
  })

  test('a room without a gate behind it is no room', async () => {
    const p = pipeline('p', [queue()], { runtime: new VirtualRuntime() })
    expect(await p.call(() => 1)).toBe(1)
  })
})

describe('a waiter holds nothing', () => {
  test('no token: those of the rate before the slot are there for others', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue(), rateLimit({ rate: 1, per: '1h', burst: 2 }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    const a = fateOf(p.call(takes(world, 100, 'a')))
    const [b, c] = [fateOf(p.call(() => 'b')), fateOf(p.call(() => 'c'))]
    expect(layerOf(p, 'rateLimit')['tokens']).toBe(1)
    await world.advanceAsync(100)
    // b takes the last token with the slot in hand; c is told so.
    expect([a.value, b.value, codeOf(c)]).toEqual(['a', 'b', 'rate'])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})

test('10,000 waiters of synchronous work do not overflow the stack', () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue({ size: 10_000 }), bulkhead({ slots: 1 })], { runtime: world })
  let release: (() => void) | undefined
  let ended = 0
  p.start(
    (_, done) => (release = () => done(answered(0))),
    () => void ended++,
  )
  for (let i = 0; i < 10_000; i++)
    p.start(
      (_, done) => done(answered(i)),
      () => void ended++,
    )
  expect(layerOf(p, 'queue')['waiting']).toBe(10_000)
  release?.()
  expect([ended, leftIn(world, p)]).toEqual([10_001, NOTHING])
})

test('10,000 waiters who all leave at once, by time or by abort, leave nothing', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue({ size: 10_000, atMost: 100 }), bulkhead({ slots: 1 })], { runtime: world })
  void fateOf(p.call(hangs))
  const aborter = new AbortController()
  const fates = Array.from({ length: 10_000 }, (_, i) =>
    fateOf(p.call(() => 1, i % 2 === 0 ? { signal: aborter.signal } : {})),
  )
  aborter.abort('left')
  await world.advanceAsync(100)
  expect(fates.filter((f) => f.value === 'left').length).toBe(5000)
  expect(fates.filter((f) => codeOf(f) === 'queue-timeout').length).toBe(5000)
  expect([leftIn(world, p).waiting, world.timers, layerOf(p, 'bulkhead')['rooms']]).toEqual([0, 0, 0])
})

async function settled(fate: Fate, world: VirtualRuntime): Promise<Fate> {
  await world.settle()
  return fate
}
