import { answered, bulkhead, pipeline, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// "Timeout" meant the wrong phase: it killed work already running, or left callers waiting without bound; and dropped jobs stayed counted, so
// the queue looked full for ever. (goresilience #10, OmniRoute #9533, bottleneck #152)

/** Concurrency 1, three places, 100 ms of patience. */
function house(order: 'fifo' | 'lifo') {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue({ size: 3, atMost: 100, order }), bulkhead({ slots: 1 })], { runtime: world })
  const job = (ms: number, init = {}): Fate => fateOf(p.call(takes(world, ms, 'done'), init), world)
  return { world, p, job }
}

describe.each(['fifo', 'lifo'] as const)('C15 %s', (order) => {
  test('waiting is bounded, running is not touched, who leaves frees his place at once', async () => {
    const { world, p, job } = house(order)
    const aborter = new AbortController()
    const a = job(500)
    await world.advanceAsync(10)
    const b = job(1)
    await world.advanceAsync(10)
    const c = job(1)
    await world.advanceAsync(10)
    const d = job(1, { signal: aborter.signal })
    await world.advanceAsync(5)
    const e = job(1)
    await world.settle()
    expect([codeOf(e), e.at]).toEqual(['queue-full', 35])

    await world.advanceAsync(15)
    aborter.abort('left')
    await world.settle()
    expect([d.value, d.at, layerOf(p, 'queue')['waiting']]).toEqual(['left', 50, 2])

    await world.advanceAsync(1000)
    expect([codeOf(b), b.at]).toEqual(['queue-timeout', 110])
    expect([codeOf(c), c.at]).toEqual(['queue-timeout', 120])
    expect([a.value, a.at]).toEqual(['done', 500])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('100,000 jobs that all time out in the queue leave nothing; the next one runs at once', async () => {
    const world = new VirtualRuntime()
    const p = pipeline('p', [queue({ size: 1000, atMost: 100, order }), bulkhead({ slots: 1 })], { runtime: world })
    let release: (() => void) | undefined
    const ended: Record<string, number> = {}
    p.start(
      (_, done) => (release = () => done(answered(1))),
      () => {},
    )
    for (let round = 0; round < 100; round++) {
      for (let i = 0; i < 1000; i++) {
        p.start(
          (_, done) => done(answered(1)),
          (o) => {
            const reason = o.rejection?.reason ?? 'ran'
            ended[reason] = (ended[reason] ?? 0) + 1
          },
        )
      }
      world.advance(100)
    }
    expect([ended, world.timers]).toEqual([{ 'queue-timeout': 100_000 }, 0])
    release?.()
    expect(leftIn(world, p)).toEqual(NOTHING)
    expect(await p.call(() => 'at once')).toBe('at once')
  })

  test('a job added from inside a rejection handler is served like any other', async () => {
    const { world, p, job } = house(order)
    const a = job(150)
    const added: Fate[] = []
    void p.call(() => 1).catch(() => added.push(job(10)))
    await world.advanceAsync(160)
    expect([a.at, added[0]?.value, added[0]?.at]).toEqual([150, 'done', 160])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('and so is one added in the callback of a refusal, without promises', () => {
    const { world, p } = house(order)
    p.start(
      (_, done) => void world.after(120, () => done(answered(1))),
      () => {},
    )
    const outcomes: unknown[] = []
    p.start(
      () => {},
      (refused) => {
        outcomes.push(refused.rejection?.reason)
        p.start(
          (_, done) => done(answered('second')),
          (o) => outcomes.push(o.value),
        )
      },
    )
    world.run()
    expect([outcomes, leftIn(world, p)]).toEqual([['queue-timeout', 'second'], NOTHING])
  })
})

// Decided: a waiting room has one order for all criticalities. Who is more critical gets in by a level of admission further out, which
// refuses the sheddable before they take a place; a line that reorders would let critical callers starve the others up to their patience.
test('C15 no class overtakes another in the line, and a sheddable job times out: it is not lost', async () => {
  const { world, p } = house('fifo')
  const order: string[] = []
  const held = fateOf(p.call(takes(world, 90, 'held')))
  for (const criticality of ['sheddable', 'criticalPlus', 'critical'] as const)
    void fateOf(p.call(() => void order.push(criticality), { criticality }))
  await world.advanceAsync(90)
  expect([held.value, order]).toEqual(['held', ['sheddable', 'criticalPlus', 'critical']])
  const long = fateOf(p.call(takes(world, 200, 'long')))
  const late = fateOf(
    p.call(() => 1, { criticality: 'sheddable' }),
    world,
  )
  await world.advanceAsync(200)
  expect([long.value, codeOf(late), late.at, leftIn(world, p)]).toEqual(['long', 'queue-timeout', 190, NOTHING])
})
