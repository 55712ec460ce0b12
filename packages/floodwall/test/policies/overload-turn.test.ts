import { answered, type Criticality, overload, pipeline, type Runtime } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { Turn } from '../../src/policies/overload-turn.ts'
import { layerOf } from '../core/fate.ts'

// A loop that was busy finds many calls at once: who of them goes first, and when. The figures of it are in test/server/overload-loop.test.ts.

/** A loop in slow motion: a handler computes by moving the clock, and what is put off to the end of the turn waits for `endTurn`. */
function loop(options: NonNullable<Parameters<typeof overload>[0]> = {}) {
  const world = new VirtualRuntime({ seed: 5 })
  let chores: (() => void)[] = []
  let ranMs = 0
  const clock = () => world.now() + ranMs
  const { random, after, emit, bind } = world
  const runtime: Runtime = {
    ...{ now: clock, precise: clock, random, after, emit, bind },
    soon: (fn) => void chores.push(fn),
  }
  const p = pipeline('api', [overload(options)], { runtime })
  const order: string[] = []
  const meet = (
    name: string,
    waitedMs: number,
    criticality: Criticality = 'critical',
    computesMs = 20,
    within?: number,
  ) =>
    p.start(
      (_, done) => {
        order.push(name)
        ranMs += computesMs
        done(answered(name))
      },
      () => {},
      { waitedMs, criticality, ...(within !== undefined && { within }) },
    )
  const endTurn = () => {
    const due = chores
    chores = []
    for (const chore of due) chore()
    return due.length
  }
  const reload = (to: NonNullable<Parameters<typeof overload>[0]>) => p.reload([overload(to)])
  return { order, meet, endTurn, reload, look: () => layerOf(p, 'overload') }
}

describe('calls that have waited for the loop', () => {
  test('stand in the line until all that came with them do, and then who matters most goes first', () => {
    const { order, meet, endTurn, look } = loop()
    meet('batch', 40, 'sheddable')
    meet('page', 30)
    meet('pay', 20, 'criticalPlus')
    expect([order, look()['waiting']]).toEqual([[], 3])
    endTurn()
    expect(order).toEqual(['pay'])
  })

  test('who computes long makes the others wait for a look at the sockets, and for no more', () => {
    const { order, meet, endTurn, look } = loop()
    for (const name of ['a', 'b', 'c']) meet(name, 40)
    endTurn()
    expect(order).toEqual(['a'])
    meet('late', 10, 'criticalPlus')
    expect([endTurn(), endTurn(), endTurn(), endTurn()]).toEqual([1, 1, 1, 0])
    expect([order, look()['waiting']]).toEqual([['a', 'late', 'b', 'c'], 0])
  })

  test('short work is done in one turn', () => {
    const { order, meet, endTurn } = loop()
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) meet(name, 40, 'critical', 1)
    expect([endTurn(), order.length, endTurn(), order.length]).toEqual([1, 5, 1, 7])
  })

  test('who has hardly waited, or says nothing of it, begins at once', () => {
    const { order, meet, endTurn } = loop()
    meet('a', 0)
    meet('b', 5)
    expect([order, endTurn()]).toEqual([['a', 'b'], 1])
    const bare = loop()
    bare.meet('c', 0)
    expect([bare.order, bare.endTurn()]).toEqual([['c'], 0])
  })

  test('in shadow nobody waits', () => {
    const { order, meet } = loop({ shadow: true })
    for (const name of ['a', 'b']) meet(name, 40)
    expect(order).toEqual(['a', 'b'])
  })
})

test('what throws at the end of a turn keeps nothing else from it', () => {
  const world = new VirtualRuntime()
  const turn = new Turn(world.env(), () => {
    throw new Error('faulty')
  })
  let others = 0
  expect([turn.met(0), turn.met(3)]).toEqual([0, 0])
  world.soon(() => void others++)
  expect(() => world.advance(1)).toThrow('faulty')
  expect([others, turn.met(7)]).toEqual([1, 7])
})

describe('in calm times who waits for the end of the turn is no worse off than without it', () => {
  test('a pause longer than anybody may wait refuses nobody', () => {
    const { order, meet, endTurn, look } = loop({ atMost: '50ms' })
    for (const name of ['a', 'b', 'c']) meet(name, 60, 'critical', 2)
    endTurn()
    expect([order, look()['waiting']]).toEqual([['a', 'b', 'c'], 0])
  })

  test('nor does a deadline that the work alone would miss', () => {
    const { order, meet, endTurn } = loop()
    for (let i = 0; i < 40; i++) meet('before', 0, 'critical', 20)
    endTurn()
    order.length = 0
    meet('short of time', 30, 'critical', 20, 10)
    expect(order).toEqual(['short of time'])
  })
})

test('a reload into the shadow lets those who wait go', () => {
  const { order, meet, endTurn, reload } = loop({ limits: { start: 2, most: 2 } })
  meet('a', 40, 'critical', 1)
  meet('b', 40, 'critical', 1)
  reload({ limits: { start: 2, most: 2 }, shadow: true })
  endTurn()
  expect(order).toEqual(['a', 'b'])
})
