import { breaker, type ConfigError, isConfigError, pipeline } from 'floodwall'
import {
  arrivalsAt,
  Clients,
  EventLoopServer,
  exponential,
  fixed,
  lognormal,
  mixture,
  poisson,
  Server,
  sampled,
  steps,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

// What is wrong is found when a part is made, all of it at once, with its name, the value and what was expected.

function complaint(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (!isConfigError(error)) throw error
    return (error as ConfigError).message
  }
  throw new Error('nothing was wrong')
}

const world = new World()
const target = new Server(world, 'target', { service: fixed(1) })
let serial = 0
const server = (options: object) => new Server(world, 'stock', { service: fixed(1), ...options })
const loop = (options: object) => new EventLoopServer(world, 'page', { service: fixed(1), blocking: 1, ...options })
const clients = (options: object) => new Clients(world, 'shop', { to: target, arrivals: poisson(1), ...options })
const SPAN = 'a span such as 250 (ms), "250ms" or "1.5s"'

describe('wrong options', () => {
  test.each<[() => unknown, string]>([
    [() => new World({ seed: -1 }), 'world.seed: expected a whole number from 0, got -1'],
    [() => new World({ bucket: 0 }), `world.bucket: expected ${SPAN}, above 0, got 0`],
    [() => new World({ trace: 'all' as never }), 'world.trace: expected a function, got "all"'],
    [() => new World({ seeds: 1 } as object), 'world.seeds: expected no such field; known: seed, bucket, trace, got 1'],
    [() => world.run('soon' as never), `world.run: expected ${SPAN}, got "soon"`],
    [() => world.at(-1, () => {}), `world.at: expected ${SPAN}, got -1`],
    [() => server({ service: 20 }), 'stock.service: expected a service time such as exponential("20ms"), got 20'],
    [() => new Server(world, 'stock', {} as never), 'stock.service: expected this field (it is required)'],
    [() => server({ workers: 0 }), 'stock.workers: expected a whole number from 1, got 0'],
    [() => server({ queue: -1 }), 'stock.queue: expected a whole number from 0, got -1'],
    [() => server({ refusal: 'x' }), `stock.refusal: expected ${SPAN}, got "x"`],
    [() => server({ notices: 1 }), 'stock.notices: expected true or false, got 1'],
    [
      () => server({ guard: breaker() }),
      'stock.guard: expected a list of layers such as [breaker()], or a pipeline, got {"kind"',
    ],
    [() => server({ guard: [{}] }), 'stock.guard: expected a list of layers'],
    [
      () => server({ guard: pipeline('real', []) }),
      'stock.guard: expected a pipeline made with { runtime: world }, got real',
    ],
    [() => server({ calls: {} }), 'stock.calls.to: expected this field (it is required)'],
    [() => server({ calls: { to: 1 } }), 'stock.calls.to: expected a server, or anything with a serve function, got 1'],
    [
      () => server({ calls: { to: target, through: pipeline('p', []) } }),
      'stock.calls.through: expected a pipeline made with',
    ],
    [() => server({ faults: {} }), 'stock.faults: expected a list of { from, ... }, got {}'],
    [() => server({ faults: [{ slow: 2 }] }), 'stock.faults[0].from: expected this field (it is required)'],
    [
      () => server({ faults: [{ from: 0, slow: 0 }] }),
      'stock.faults[0].slow: expected a number above 0 (5: five times as slow), got 0',
    ],
    [
      () => server({ faults: [{ from: 0, errors: 2 }] }),
      'stock.faults[0].errors: expected a share from 0 to 1 (0.5 is 50 %), got 2',
    ],
    [() => server({ faults: [{ from: 0 }] }), 'stock.faults[0]: expected something wrong, or well: true'],
    [
      () => server({ faults: [{ from: 0, well: true, slow: 2 }] }),
      'stock.faults[0]: expected something wrong, or well: true',
    ],
    [() => server({ faults: [{ from: 0, slower: 2 }] }), 'stock.faults[0].slower: expected no such field'],
    [
      () => server({ faults: [{ from: 0, errors: 0.6, hangs: 0.6 }] }),
      'stock.faults[0]: expected errors, hangs and blackhole of at most 1 together',
    ],
    [() => target.become({ down: false } as never), 'target.become.down: expected true, got false'],
    [
      () => target.become({ errors: 0.6, blackhole: 0.6 }),
      'target.become: expected errors, hangs and blackhole of at most 1 together',
    ],
    [() => loop({ blocking: 0 }), 'page.blocking: expected a share above 0 and at most 1 (0.5 is 50 %), got 0'],
    [() => loop({ workers: 2 }), 'page.workers: expected no such field'],
    [() => clients({ to: {} }), 'shop.to: expected a server, or anything with a serve function, got {}'],
    [() => clients({ arrivals: 100 }), 'shop.arrivals: expected arrivals such as poisson(100), got 100'],
    [() => clients({ arrivals: undefined }), 'shop: expected either arrivals or users'],
    [() => clients({ users: { count: 1, think: fixed(1) } }), 'shop: expected either arrivals or users'],
    [
      () => clients({ users: { count: 1.5, think: fixed(1) } }),
      'shop.users.count: expected a whole number from 1, got 1.5',
    ],
    [
      () => clients({ users: { count: 1, think: fixed(0) } }),
      'shop.users.think: expected a think time with a mean above 0',
    ],
    [() => clients({ patience: 0 }), `shop.patience: expected ${SPAN}, above 0, got 0`],
    [() => clients({ retries: -1 }), 'shop.retries: expected a whole number from 0, got -1'],
    [
      () => clients({ retries: 1, backoff: { factor: 0 } }),
      'shop.backoff.factor: expected a number from 1 to 1000, got 0',
    ],
    [
      () => clients({ criticality: 'high' }),
      'shop.criticality: expected one of "criticalPlus", "critical", "sheddablePlus", "sheddable", got "high"',
    ],
    [() => clients({ idempotent: 'yes' }), 'shop.idempotent: expected true or false, got "yes"'],
    [() => poisson(-1), 'poisson: expected a number of 0 or more, got -1'],
    [() => steps([]), 'steps: expected at least one { from, rate }, got []'],
    [
      () =>
        steps([
          { from: 5, rate: 1 },
          { from: 1, rate: 1 },
        ]),
      'steps: expected steps in the order of their time',
    ],
    [() => steps([{ from: 0, rate: Number.NaN }]), 'steps[0].rate: expected a number of 0 or more, got NaN'],
    [() => arrivalsAt([2, 1]), 'arrivalsAt: expected times in their order, got [2,1]'],
    [() => arrivalsAt([-1]), `arrivalsAt[0]: expected ${SPAN}, got -1`],
    [() => fixed(-1), `fixed: expected ${SPAN}, got -1`],
    [() => exponential(0), `exponential: expected ${SPAN}, above 0, got 0`],
    [() => lognormal({ median: 20, p99: 10 }), 'lognormal: expected a p99 of at least the median'],
    [() => lognormal({ median: 20 } as never), 'lognormal.p99: expected this field (it is required)'],
    [() => sampled([]), 'sampled: expected at least one span'],
    [() => sampled([1, Number.NaN]), `sampled[1]: expected ${SPAN}, got NaN`],
    [() => mixture([]), 'mixture: expected at least one { share, of }'],
    [() => mixture([{ share: 0.5, of: fixed(1) }]), 'mixture: expected shares that add up to 1'],
  ])('%s', (make, message) => {
    expect(complaint(make)).toContain(message)
  })

  test('are all told at once', () => {
    const message = complaint(() => server({ workers: 0, queue: -1, service: 1 }))
    for (const field of ['stock.workers', 'stock.queue', 'stock.service']) expect(message).toContain(field)
  })
})

test('a name is taken once; what was refused has taken none', () => {
  expect(complaint(() => new Server(world, 'target', { service: fixed(1) }))).toContain(
    'a name that is new in this world, got "target"',
  )
  expect(complaint(() => new Clients(world, 'target', { to: target, arrivals: poisson(1) }))).toContain('"target"')
  const name = `part ${serial++}`
  complaint(() => new Server(world, name, { service: fixed(1), workers: 0 }))
  expect(new Server(world, name, { service: fixed(1) }).name).toBe(name)
})
