import { answered, bulkhead, type Criticality, pipeline, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// "Timeout" meant the wrong phase: it killed work already running, or left callers waiting without bound; and dropped jobs stayed counted, so
// the queue looked full for ever. (goresilience #10, OmniRoute #9533, bottleneck #152)

/** Concurrency 1, three places, 100 ms of patience. */
function house(order: 'fifo' | 'lifo' | 'adaptive', size = 3) {
  const world = new VirtualRuntime()
  const p = pipeline('p', [queue({ size, atMost: 100, order }), bulkhead({ slots: 1 })], { runtime: world })
  const job = (ms: number, init = {}): Fate => fateOf(p.call(takes(world, ms, 'done'), init), world)
  return { world, p, job }
}

describe.each(['fifo', 'lifo', 'adaptive'] as const)('C15 %s', (order) => {
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

// Decided: who matters more goes first, and where all places are taken the least makes room for who matters more. Nothing ages: a class may
// starve for as long as higher ones fill all slots, and whoever waits in vain is told so when his patience is over, or his place is taken.
describe('C15 classes', () => {
  test('critical before sheddable, and within a class in turn', async () => {
    const { world, p, job } = house('fifo', 5)
    const order: string[] = []
    const held = job(90)
    const come = (name: string, criticality: Criticality) =>
      void fateOf(p.call(() => void order.push(name), { criticality }))
    come('s', 'sheddable')
    come('c1', 'critical')
    come('p', 'criticalPlus')
    come('sp', 'sheddablePlus')
    come('c2', 'critical')
    await world.advanceAsync(90)
    expect([held.value, order]).toEqual(['done', ['p', 'c1', 'c2', 'sp', 's']])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a sheddable job that others overtake all the time times out: it is not lost', async () => {
    const { world, p, job } = house('fifo')
    job(30)
    const late = job(1, { criticality: 'sheddable' })
    const others: Fate[] = []
    for (let i = 0; i < 10; i++) {
      others.push(job(30))
      await world.advanceAsync(30)
    }
    await world.advanceAsync(100)
    expect([codeOf(late), late.at]).toEqual(['queue-timeout', 100])
    expect(others.every(({ value }) => value === 'done')).toBe(true)
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('in a full line the least makes room, and is told at once; nobody makes room for his like', async () => {
    const { world, p, job } = house('fifo')
    job(90)
    const [s1, s2, c] = [job(1, { criticality: 'sheddable' }), job(1, { criticality: 'sheddable' }), job(1)]
    const plus = job(1, { criticality: 'sheddablePlus' })
    const like = job(1, { criticality: 'sheddable' })
    await world.settle()
    // Of two alike the one goes who came last, since the other has the better prospects.
    expect([codeOf(s2), s2.at, codeOf(like), layerOf(p, 'queue')['displaced']]).toEqual([
      'queue-full',
      0,
      'queue-full',
      1,
    ])
    await world.advanceAsync(100)
    expect([c.at, plus.at, s1.at]).toEqual([91, 92, 93])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('a job that is added while another hears that it made room gets no place twice', () => {
    const { world, p } = house('fifo')
    const ends: unknown[] = []
    const start = (name: string, criticality: Criticality, then = () => {}) =>
      p.start(
        (_, done) => void world.after(10, () => done(answered(name))),
        (o) => {
          ends.push([name, o.rejection?.reason ?? o.value])
          then()
        },
        { criticality },
      )
    start('runs', 'critical')
    for (const name of ['a', 'b']) start(name, 'sheddablePlus')
    start('least', 'sheddable', () => start('again', 'sheddable'))
    start('urgent', 'criticalPlus')
    expect(ends).toEqual([
      ['least', 'queue-full'],
      ['again', 'queue-full'],
    ])
    world.run()
    expect(ends.slice(2)).toEqual(['runs', 'urgent', 'a', 'b'].map((name) => [name, name]))
    expect(leftIn(world, p)).toEqual(NOTHING)
  })
})
