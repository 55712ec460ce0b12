import type { Snapshot } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { capacityOf, type Scene, SORTS, type Sort, scene } from './overload-scene.ts'

// What the one line promises, with one set of defaults for every sort of server. Short runs of few seeds; the whole is `npm run bench -- overload`.

const sorts: readonly [string, Sort][] = Object.entries(SORTS)

/** The figures that matter, of `calls` that could be done, after a calm time and 2000 calls' worth of the load. */
function figures(sort: Sort, load: number, seed: number, calls = 3000) {
  const perMs = capacityOf(sort) / 1000
  const calmMs = 400 / perMs
  const { world, server, clients } = scene(sort, seed, [
    { from: 0, load: 0.6 },
    { from: calmMs, load },
  ])
  world.run(calmMs + 600 / perMs)
  world.forget()
  const spanMs = calls / perMs
  world.run(spanMs)
  const { success, overload: refused, begun, latency } = (clients[0] as Scene['clients'][number])[1].report()
  const { utilisation } = server.report()
  return { goodput: success / calls, utilisation, refused: refused / begun, p99: latency.p99 ?? 0 }
}

function unloaded(sort: Sort): number {
  const { world, clients } = scene(sort, 1, [{ from: 0, load: 0.05 }], { layers: [] })
  world.run((60_000 / capacityOf(sort)) * 1000)
  return (clients[0] as Scene['clients'][number])[1].report().latency.p99 ?? 0
}

describe.each(sorts)('%s', (_, sort) => {
  const alone = unloaded(sort)

  test.each([1.5, 4, 10])('at %d times the load it does what it can, and whom it takes it serves in time', (load) => {
    const found = figures(sort, load, 1)
    // The busy share of the workers is free of the chance of service times; goodput has it.
    expect(found.utilisation).toBeGreaterThan(0.965)
    expect(found.goodput).toBeGreaterThan(0.93)
    // Three times, and what a run of 3000 calls has of chance.
    expect(found.p99 / alone).toBeLessThan(3.3)
  })

  test('below its capacity it refuses hardly anybody', () => {
    expect(figures(sort, 0.8, 2, 20_000).refused).toBeLessThan(0.001)
    expect(figures(sort, 0.9, 3, 20_000).refused).toBeLessThan(0.005)
  })
})

test('one worker is the worst case: at 1.5 times the load the last one who waits must not leave', () => {
  // M/D/1 where nobody waits for more than two service times is busy for 95.3 % then, and for 98.1 % where it is three.
  const sort: Sort = { service: SORTS['4 workers, 20 ms, always the same'].service, workers: 1 }
  const found = [1, 2, 3].map((seed) => figures(sort, 1.5, seed))
  for (const { utilisation, p99 } of found) {
    expect(utilisation).toBeGreaterThan(0.965)
    // With one worker calls wait for each other at a twentieth of its load, too.
    expect(p99 / unloaded(sort)).toBeLessThan(2.5)
    expect(p99 / 20).toBeLessThan(4.1)
  }
  expect(figures(sort, 4, 1).utilisation).toBeGreaterThan(0.98)
})

test.each(['4 workers, 20 ms', '32 workers, 20 ms'] as const)(
  '%s: a step from 1 to 4 times the load is met within 100 ms',
  (name) => {
    const sort = SORTS[name]
    const stepAt = 5000
    for (const seed of [1, 2, 3, 4]) {
      const { world, guard, clients } = scene(sort, seed, [
        { from: 0, load: 1 },
        { from: stepAt, load: 4 },
      ])
      world.run(stepAt + 100)
      const bound = 2 * Number((guard.inspect()['layers'] as Snapshot[])[0]?.['targetMs'])
      expect(bound).toBeLessThan(80)
      world.forget()
      world.run(900)
      // From arrival to answer: the wait, and the work itself.
      expect((clients[0] as Scene['clients'][number])[1].report().latency.p99).toBeLessThan(bound + 30)
    }
  },
)

test('a loop that computes, too: the flood is known after some five service times, however many wait before it', () => {
  const sort = SORTS['a loop that computes']
  const knownMs = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((seed) => {
    const { world, guard } = scene(sort, seed, [
      { from: 0, load: 1 },
      { from: 20_000, load: 4 },
    ])
    world.run(20_000)
    let ms = 0
    for (; !(guard.inspect()['layers'] as Snapshot[])[0]?.['overloaded'] && ms < 2000; ms += 10) world.run(10)
    return ms
  })
  knownMs.sort((a, b) => a - b)
  expect(knownMs[4]).toBeLessThan(160)
  expect(knownMs[8]).toBeLessThan(300)
})

describe.each([
  '4 workers, 20 ms',
  '4 workers, exponential',
  '4 workers, 1 ms',
  '32 workers, 20 ms',
  'a loop that awaits mostly',
] as const)('%s: four classes at four times the load', (name) => {
  const sort = SORTS[name]
  const found = [1, 2, 3].map((seed) => {
    const perMs = capacityOf(sort) / 1000
    const mix = { criticalPlus: 0.1, critical: 0.2, sheddablePlus: 0.35, sheddable: 0.35 }
    const loads = [
      { from: 0, load: 0.6 },
      { from: 400 / perMs, load: 4 },
    ]
    const { world, guard, clients } = scene(sort, seed, loads, { mix })
    world.run(1000 / perMs)
    world.forget()
    world.run(4000 / perMs)
    const shares = clients.map(([, group]) => {
      const { success, begun, pending } = group.report()
      return success / (begun - pending)
    })
    return { shares, inversions: (guard.inspect()['layers'] as Snapshot[])[0]?.['inversions'] as number }
  })

  test('the top class, 0.4 of the capacity, hardly notices', () => {
    for (const { shares } of found) expect(shares[0]).toBeGreaterThan(0.999)
  })

  test('who matters less fares worse, class by class', () => {
    for (const { shares } of found) expect([...shares].sort((a, b) => b - a)).toEqual(shares)
    for (const { shares } of found) expect(shares[3]).toBeLessThan(0.01)
  })

  test('no class is admitted while a higher one is refused', () => {
    for (const { inversions } of found) expect(inversions / 16_000).toBeLessThan(0.001)
  })
})
