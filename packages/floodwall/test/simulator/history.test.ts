import { breaker, bulkhead, type Layer, retry, timeout } from 'floodwall'
import {
  arrivalsAt,
  Clients,
  EventLoopServer,
  exponential,
  lognormal,
  mixture,
  poisson,
  Server,
  steps,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'
import { History } from '../../src/simulator/history.ts'

// Same seed, same history, on every version of Node: the digests below were written down once, and are compared wherever the suite runs.

/** Every distribution, both servers, faults, patience, retries. */
function furnish(seed: number, layers: readonly Layer[]): World {
  const world = new World({ seed })
  const faults = [
    { from: '4s', slow: 4 },
    { from: '6s', errors: 0.3 },
    { from: '7s', down: true as const },
    { from: '8s', well: true as const },
  ] as const
  const stock = new Server(world, 'stock', {
    service: lognormal({ median: '8ms', p99: '50ms' }),
    workers: 4,
    faults,
  })
  const page = new EventLoopServer(world, 'page', {
    service: mixture([
      { share: 0.9, of: exponential('10ms') },
      { share: 0.1, of: exponential('60ms') },
    ]),
    blocking: 0.4,
    calls: { to: stock, through: layers },
  })
  new Clients(world, 'shop', {
    to: page,
    arrivals: steps([
      { from: 0, rate: 50 },
      { from: '3s', rate: 120 },
    ]),
    patience: '400ms',
    retries: 2,
    backoff: { first: '50ms' },
  })
  new Clients(world, 'robots', { to: page, users: { count: 5, think: exponential('200ms') } })
  return world
}

const floodwall = (): Layer[] => [
  retry(),
  breaker({ atLeast: 20, openFor: '500ms' }),
  bulkhead({ slots: 8 }),
  timeout({ after: '100ms' }),
]

describe('the digest', () => {
  test.each([
    ['no layers', [], '8bf578ee', 14_941],
    ['retry, breaker, bulkhead, timeout', floodwall(), '1bd1d878', 14_657],
  ] as const)('with %s is the one that was written down', (_, layers, digest, count) => {
    const report = furnish(42, layers).run('10s')
    expect([report.digest, report.steps]).toEqual([digest, count])
  })

  test('is the same when it happens again, and another for another seed', () => {
    const digest = (seed: number) => furnish(seed, floodwall()).run('10s').digest
    const list = Array.from({ length: 40 }, (_, seed) => digest(seed))
    expect(digest(7)).toBe(list[7])
    expect(new Set(list).size).toBe(list.length)
  })

  test('does not depend on the stretches in which time passes', () => {
    const world = furnish(3, floodwall())
    for (let i = 0; i < 100; i++) world.run('100ms')
    const report = world.report()
    expect(report.elapsedMs).toBeCloseTo(10_000, 6)
    expect(report.digest).toBe(furnish(3, floodwall()).run('10s').digest)
  })

  test('tells the last bit of a time, the step, the part, the number and the order apart', () => {
    const digest = (...steps: readonly (readonly [at: number, step: number, part: number, id: number])[]): string => {
      const history = new History(undefined)
      for (const step of steps) history.add(...step)
      return history.digest
    }
    const some = [1, 2, 3, 4] as const
    const others = [
      [some],
      [[1 + Number.EPSILON, 2, 3, 4]],
      [[1, 1, 3, 4]],
      [[1, 2, 2, 4]],
      [[1, 2, 3, 5]],
      [some, some],
      [some, [1, 2, 3, 5]],
      [[1, 2, 3, 5], some],
      [],
    ] as const
    expect(new Set(others.map((steps) => digest(...steps))).size).toBe(others.length)
    expect(digest([-0, 0, 0, 0])).toBe(digest([0, 0, 0, 0]))
  })
})

describe('chance', () => {
  /** When somebody came and how long his work would have taken, whatever became of it. */
  function arrivals(layers: readonly Layer[], rate = 100): number[] {
    const at: number[] = []
    const world = new World({
      seed: 5,
      trace: (time, step, part) => void (step === 'begin' && part === 'c' && at.push(time)),
    })
    const server = new Server(world, 's', { service: exponential('30ms'), workers: 2 })
    new Clients(world, 'c', { to: server, through: layers, arrivals: poisson(rate), retries: 1 })
    if (layers.length > 0) new Clients(world, 'others', { to: server, arrivals: poisson(50) })
    world.run('20s')
    return at
  }

  test('of one part is not shifted by what others do: the same callers come to every contender', () => {
    expect(arrivals(floodwall())).toEqual(arrivals([]))
  })
})

test('a trace sees the steps of a request in their order, each once', () => {
  const seen: string[] = []
  const world = new World({ trace: (at, step, part, id) => void seen.push(`${at} ${step} ${part} ${id}`) })
  const server = new Server(world, 's', { service: { meanMs: 5, draw: () => 5 } })
  new Clients(world, 'c', { to: server, arrivals: arrivalsAt([10, 12]) })
  world.run('1s')
  expect(seen).toEqual([
    ...['10 begin c 0', '10 attempt c 0', '10 arrive s 0', '10 start s 0'],
    ...['12 begin c 1', '12 attempt c 1', '12 arrive s 1'],
    ...['15 finish s 0', '15 end c 0', '15 start s 1'],
    ...['20 finish s 1', '20 end c 1'],
  ])
})
