import { bulkhead, pipeline, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { codeOf, type Fate, fateOf, hangs, layerOf, leftIn, NOTHING, takes } from '../core/fate.ts'

// A caller that gave up waiting stayed in the line; the next release handed it the permit, and nobody gave it back. (failsafe #393, #400)

function house(slots: number, atMost: number, size = 100) {
  const world = new VirtualRuntime()
  return { world, p: pipeline('p', [queue({ atMost, size }), bulkhead({ slots })], { runtime: world }) }
}

test('C16 a permit is not given to a waiter who has left', async () => {
  const { world, p } = house(1, 50)
  const a = fateOf(p.call(takes(world, 100, 'a')), world)
  const b = fateOf(
    p.call(() => 'b'),
    world,
  )
  await world.advanceAsync(110)
  const c = fateOf(
    p.call(() => 'c'),
    world,
  )
  await world.settle()
  expect([a.at, codeOf(b), b.at, c.value, c.at]).toEqual([100, 'queue-timeout', 50, 'c', 110])
  expect(leftIn(world, p)).toEqual(NOTHING)
})

test('C16 as many waiters as permits time out; then as many calls are admitted', async () => {
  const { world, p } = house(8, 50)
  const holders = Array.from({ length: 8 }, () => fateOf(p.call(takes(world, 100, 1))))
  const waiters = Array.from({ length: 8 }, () => fateOf(p.call(() => 2)))
  await world.advanceAsync(100)
  expect([holders.every((f) => f.state === 'answered'), waiters.map(codeOf)]).toEqual([
    true,
    Array(8).fill('queue-timeout'),
  ])
  let inside = 0
  for (let i = 0; i < 8; i++) void fateOf(p.call(() => (inside++, hangs())))
  expect([inside, layerOf(p, 'bulkhead')['used'], (await settle(fateOf(p.call(() => 1)), world)).state]).toEqual([
    8,
    8,
    'pending',
  ])
})

test('C16 10,000 waiters time out and nothing has grown', async () => {
  const { world, p } = house(1, 50, 10_000)
  void fateOf(p.call(hangs))
  for (let round = 0; round < 3; round++) {
    const fates = Array.from({ length: 10_000 }, () => fateOf(p.call(() => 1)))
    await world.advanceAsync(50)
    expect(fates.every((f) => codeOf(f) === 'queue-timeout')).toBe(true)
    expect([leftIn(world, p), layerOf(p, 'bulkhead')['rooms']]).toEqual([{ ...NOTHING, running: 1, used: 1 }, 0])
  }
})

describe('C16 in the same tick', () => {
  const both: [string, (abort: () => void, release: () => void) => void][] = [
    ['the abort, then the release', (abort, release) => (abort(), release())],
    ['the release, then the abort', (abort, release) => (release(), abort())],
  ]

  test.each(both)('%s: the slot goes to B or to C, never to neither', async (_, inOrder) => {
    const { world, p } = house(1, 1000)
    const aborter = new AbortController()
    let release: (() => void) | undefined
    const ran: string[] = []
    const a = fateOf(p.call(() => new Promise<void>((resolve) => (release = resolve))))
    const b = fateOf(p.call(() => (ran.push('b'), takes(world, 10, 'b')()), { signal: aborter.signal }))
    const c = fateOf(p.call(() => (ran.push('c'), takes(world, 10, 'c')())))
    inOrder(
      () => aborter.abort('left'),
      () => release?.(),
    )
    await world.advanceAsync(100)
    expect([a.state, b.value, c.value, ran]).toEqual(['answered', 'left', 'c', ['c']])
    expect(leftIn(world, p)).toEqual(NOTHING)
  })

  test('the patience of B and the release of A at one time, in both orders', async () => {
    for (const holdMs of [50, 50.000_001, 49.999_999]) {
      const { world, p } = house(1, 50)
      const a = fateOf(p.call(takes(world, holdMs, 'a')))
      const b = fateOf(p.call(takes(world, 5, 'b')))
      const later: Fate[] = []
      world.after(60, () => later.push(fateOf(p.call(() => 'c'))))
      await world.advanceAsync(100)
      expect([a.value, ['answered', 'queue-timeout'].includes(String(codeOf(b))), later[0]?.value]).toEqual([
        'a',
        true,
        'c',
      ])
      expect(leftIn(world, p)).toEqual(NOTHING)
    }
  })

  test('an abort from inside the work that made room', async () => {
    const { world, p } = house(1, 1000)
    const aborter = new AbortController()
    const a = fateOf(
      p.call(
        () =>
          new Promise<void>(
            (resolve) =>
              void world.after(10, () => {
                resolve()
                aborter.abort('left')
              }),
          ),
      ),
    )
    const b = fateOf(p.call(() => 'b', { signal: aborter.signal }))
    const c = fateOf(p.call(() => 'c'))
    await world.advanceAsync(10)
    expect([a.state, b.value, c.value, leftIn(world, p)]).toEqual(['answered', 'left', 'c', NOTHING])
  })
})

async function settle(fate: Fate, world: VirtualRuntime): Promise<Fate> {
  await world.settle()
  return fate
}
