import {
  around,
  breaker,
  bulkhead,
  deadline,
  type FloodEvent,
  gate,
  pipeline,
  queue,
  retry,
  Semaphore,
  timeout,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, failsAfter, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from './fate.ts'

const down = () => Promise.reject(new Error('down'))

describe('close()', () => {
  test('refuses new calls at every door, and runs nothing', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [bulkhead({ slots: 1 })], { runtime: world })
    p.close()
    let ran = 0
    const work = () => ran++
    const fates = [
      fateOf(p.call(work)),
      fateOf(p.wrap(work)()),
      fateOf(p.call(work, { within: 5 })),
      fateOf(p.call(work, { signal: AbortSignal.abort() })),
    ]
    const reasons: unknown[] = []
    p.start(
      () => void ran++,
      (o) => reasons.push(o.rejection?.reason, o.rejection?.never),
    )
    const outcome = await p.outcome(work)
    await world.settle()
    expect([ran, fates.map(codeOf), reasons, outcome.rejection?.reason]).toEqual([
      0,
      ['closed', 'closed', 'closed', 'closed'],
      ['closed', true],
      'closed',
    ])
    expect(fates[0]?.value).toMatchObject({
      message: '[closed] refused by p: it was closed; it can never pass',
      path: 'p',
    })
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('lets running work finish, and its permits go back', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [deadline({ within: '1s' }), bulkhead({ slots: 2 }), timeout({ after: 200 })], {
      runtime: world,
    })
    const fine = fateOf(p.call(takes(world, 100, 'a')), world)
    const slow = fateOf(p.call(takes(world, 300, 'late')), world)
    p.close()
    await world.advanceAsync(300)
    expect([fine.value, fine.at, codeOf(slow), slow.at, leftIn(world, p)]).toEqual(['a', 100, 'timeout', 200, NOTHING])
  })

  test('refuses waiting callers at once', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ atMost: '10s' }), bulkhead({ slots: 1 })], { runtime: world })
    const holder = fateOf(p.call(takes(world, 100, 'held')))
    const waiters = Array.from({ length: 5 }, () =>
      fateOf(
        p.call(() => 1),
        world,
      ),
    )
    await world.settle()
    p.close()
    await world.settle()
    expect([waiters.map(codeOf), waiters.map((w) => w.at), holder.state]).toEqual([
      Array(5).fill('closed'),
      Array(5).fill(0),
      'pending',
    ])
    await world.advanceAsync(100)
    expect([holder.value, leftIn(world, p), layerOf(p, 'bulkhead')['rooms']]).toEqual(['held', NOTHING, 0])
  })

  // Decided: who waits for the next attempt is told what the target said last, at once. Its own error says more than "closed", and work
  // has run: a refusal, which promises that nothing has, would be a lie.
  test('ends a wait between attempts with the error of the last one', async () => {
    const world = new VirtualRuntime()
    const error = new Error('upstream')
    const p = pipeline('p', [retry({ backoff: { first: '10s', atMost: '10s' } })], { runtime: world })
    const fate = fateOf(
      p.call(() => Promise.reject(error), { idempotent: true }),
      world,
    )
    await world.settle()
    expect(leftIn(world, p).waiting).toBe(1)
    p.close()
    await world.settle()
    expect([fate.value === error, fate.at, leftIn(world, p)]).toEqual([true, 0, NOTHING])
  })

  test('begins no wait any more: a call in flight that fails is not tried again, and does not queue', async () => {
    const world = new VirtualRuntime()
    const error = new Error('upstream')
    const slots = new Semaphore({ slots: 1 }, world.env('slots'))
    const other = pipeline('other', [gate(slots)], { runtime: world })
    const p = pipeline('p', [retry(), around(async (call, next) => next(call))], { runtime: world })
    const q = pipeline('q', [around(async (call, next) => next(call)), queue(), gate(slots)], { runtime: world })
    const holder = fateOf(other.call(takes(world, 50, 1)))
    const failing = fateOf(p.call(failsAfter(world, 10, error), { idempotent: true }), world)
    const coming = fateOf(q.call(() => 1))
    p.close()
    q.close()
    await world.advanceAsync(10)
    expect([failing.value === error, failing.at, codeOf(coming)]).toEqual([true, 10, 'closed'])
    await world.advanceAsync(40)
    expect([holder.value, leftIn(world, p, q, other)]).toEqual([1, NOTHING])
  })

  test('twice is harmless, also from inside what it ends', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue(), bulkhead({ slots: 1 })], { runtime: world })
    void fateOf(p.call(takes(world, 10, 1)))
    let ended = 0
    for (let i = 0; i < 3; i++) {
      p.start(
        () => {},
        () => {
          ended++
          p.close()
          p.start(
            () => {},
            () => void ended++,
          )
        },
      )
    }
    p.close()
    p.close()
    await world.advanceAsync(10)
    expect([ended, leftIn(world, p)]).toEqual([6, NOTHING])
  })

  test('while half-open: the probe ends as it would', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [breaker({ consecutive: 1, openFor: 10, jitter: 0, probes: 1 })], { runtime: world })
    await p.outcome(down)
    world.advance(10)
    const probe = fateOf(p.call(takes(world, 10, 'ok')))
    p.close()
    await world.advanceAsync(10)
    expect([probe.value, layerOf(p, 'breaker')['state'], leftIn(world, p)]).toEqual(['ok', 'closed', NOTHING])
  })

  test('tells nothing afterwards', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [breaker({ consecutive: 1 })], { runtime: world })
    const events: FloodEvent[] = []
    p.on((event) => events.push(event))
    const late = fateOf(p.call(failsAfter(world, 10, new Error('x'))))
    p.close()
    await world.advanceAsync(10)
    await p.outcome(() => 1)
    expect([late.state, events]).toEqual(['failed', []])
  })

  test('waiting callers of one pipeline do not take those of another with them', async () => {
    const world = new VirtualRuntime()
    const slots = new Semaphore({ slots: 1 }, world.env('slots'))
    const [a, b] = ['a', 'b'].map((name) => pipeline(name, [queue(), gate(slots)], { runtime: world })) as [
      ReturnType<typeof pipeline>,
      ReturnType<typeof pipeline>,
    ]
    const holder = fateOf(a.call(takes(world, 10, 1)))
    const mine = fateOf(a.call(() => 'a'))
    const theirs = fateOf(b.call(() => 'b'))
    a.close()
    await world.advanceAsync(10)
    expect([holder.value, codeOf(mine), theirs.value, leftIn(world, a, b), slots.available]).toEqual([
      1,
      'closed',
      'b',
      NOTHING,
      1,
    ])
  })

  test('reaches callers who wait in a layer that a reload has taken out', async () => {
    const world = new VirtualRuntime()
    const error = new Error('upstream')
    const p = pipeline('p', [queue({ atMost: '10s' }), retry({ backoff: { first: '10s' } }), bulkhead({ slots: 1 })], {
      runtime: world,
    })
    const failing = fateOf(p.call(() => Promise.reject(error), { idempotent: true }))
    await world.settle()
    const holder = fateOf(p.call(takes(world, 50, 1)))
    const waiting = fateOf(p.call(() => 1))
    p.reload([])
    p.reload([timeout({ after: 5 })])
    await world.settle()
    expect([failing.state, waiting.state]).toEqual(['pending', 'pending'])
    p.close()
    await world.settle()
    expect([failing.value === error, codeOf(waiting)]).toEqual([true, 'closed'])
    await world.advanceAsync(50)
    expect([holder.value, leftIn(world, p)]).toEqual([1, NOTHING])
  })
})

test('a wait that nobody ends ends by itself after a reload', async () => {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue({ atMost: 100 }), bulkhead({ slots: 1 })], { runtime: world })
  void fateOf(p.call(hangs))
  const waiting = fateOf(
    p.call(() => 1),
    world,
  )
  p.reload([])
  await world.advanceAsync(100)
  expect([codeOf(waiting), waiting.at, world.timers]).toEqual(['queue-timeout', 100, 0])
})
