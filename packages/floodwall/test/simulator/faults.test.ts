import { balance, breaker, bulkhead, queue, retry, timeout } from 'floodwall'
import {
  arrivalsAt,
  Clients,
  type ClientsOptions,
  type ConditionOptions,
  Fleet,
  fixed,
  poisson,
  type Report,
  Server,
  type ServerOptions,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

/** A server of 10 ms with one worker; somebody comes at each of `times`. */
function lived(options: Partial<ServerOptions>, times: readonly number[], wants: Partial<ClientsOptions> = {}): Report {
  const world = new World()
  const server = new Server(world, 's', { service: fixed(10), ...options })
  new Clients(world, 'c', { to: server, arrivals: arrivalsAt(times), ...wants })
  return world.run('10s')
}

const part = <T>(parts: Readonly<Record<string, T>>, name: string): T => {
  const found = parts[name]
  if (found === undefined) throw new Error(`no ${name}`)
  return found
}
const s = (report: Report) => part(report.servers, 's')
const c = (report: Report) => part(report.clients, 'c')

describe('down', () => {
  test('resets what is inside, refuses what comes, and begins anew afterwards', () => {
    const faults = [
      { from: 105, down: true as const },
      { from: 200, well: true as const },
    ]
    // One in service, one in the queue; one while it is down; one after.
    const report = lived({ faults }, [100, 101, 150, 300])
    expect(s(report)).toMatchObject({ arrived: 4, reset: 2, unreachable: 1, good: 1, inside: 0 })
    expect(c(report)).toMatchObject({ failure: 3, success: 1, pending: 0 })
    expect(s(report).utilisation).toBeCloseTo((5 + 10) / 10_000, 9)
  })

  test('costs the caller a round trip, and he may send it elsewhere: nothing ran', () => {
    const outcomes: [boolean, number][] = []
    const world = new World()
    const server = new Server(world, 's', { service: fixed(10), faults: [{ from: 0, down: true }], refusal: '3ms' })
    const clients = new Clients(world, 'c', { to: server, arrivals: arrivalsAt([]) })
    world.at(1, () => clients.pipeline.start(server.serve, ({ ran }) => outcomes.push([ran, world.now()])))
    world.run(100)
    expect(outcomes).toEqual([[false, 4]])
  })

  test('twice is once; between a fall and a rise nothing of before comes back', () => {
    const faults = [
      { from: 5, down: true as const },
      { from: 6, down: true as const },
      { from: 7, well: true as const },
    ]
    const report = lived({ faults }, [0, 8])
    // The work of the first would have ended at 10, and freed a worker that the second has.
    expect(s(report)).toMatchObject({ reset: 1, good: 1, mostWaiting: 0 })
    expect(c(report).latency.max).toBe(10)
  })
})

describe('slow', () => {
  test('is so many times the service time, for what begins', () => {
    const report = lived(
      {
        faults: [
          { from: 50, slow: 5 },
          { from: 100, slow: 0.5 },
        ],
      },
      [0, 60, 200],
    )
    expect(c(report).latency).toMatchObject({ count: 3, min: 5, max: 50, mean: (10 + 50 + 5) / 3 })
  })

  test('holds until the next condition, which replaces it', () => {
    const report = lived(
      {
        faults: [
          { from: 0, slow: 5 },
          { from: 100, errors: 1 },
        ],
      },
      [0, 200],
    )
    expect([c(report).latency.max, c(report).failure, s(report).utilisation]).toEqual([50, 1, 60 / 10_000])
  })
})

describe('errors', () => {
  test('are that share, and take as long as an answer, or as long as they are told to', () => {
    const share = (options: Partial<ServerOptions>) => {
      const world = new World({ seed: 3 })
      const server = new Server(world, 's', { service: fixed(10), workers: 100, ...options })
      const clients = new Clients(world, 'c', { to: server, arrivals: poisson(500) })
      world.at('59s', () => clients.stop())
      return world.run('60s')
    }
    const slow = share({ faults: [{ from: 0, errors: 0.3 }] })
    expect(c(slow).failure / c(slow).begun).toBeCloseTo(0.3, 1)
    const fast = share({ faults: [{ from: 0, errors: 0.3, errorsTake: 1 }] })
    // The same requests fail: the dice were the same.
    expect(c(fast).failure).toBe(c(slow).failure)
    expect(s(fast).utilisation / s(slow).utilisation).toBeCloseTo(0.7 + 0.3 * 0.1, 2)
  })
})

describe('hangs', () => {
  test('keep a worker each until the condition changes; then they fail and the queue goes on', () => {
    const faults = [
      { from: 0, hangs: 1 },
      { from: 1000, well: true as const },
    ]
    const report = lived({ workers: 2, faults }, [0, 1, 2, 3])
    // Two hang, two wait for a worker: those are answered, since they begin when all is well.
    expect(s(report)).toMatchObject({ hung: 2, good: 2, inside: 0, mostWaiting: 2 })
    expect(c(report)).toMatchObject({ failure: 2, success: 2 })
    expect(s(report).utilisation).toBeCloseTo((999 + 1000 + 20) / 20_000, 6)
  })

  test('a timeout frees the caller and his slot, and nothing else', () => {
    const faults = [{ from: 0, hangs: 1 }]
    const report = lived({ faults }, [0], { through: [bulkhead({ slots: 1 }), timeout({ after: 50 })] })
    expect(c(report)).toMatchObject({ timeout: 1, pending: 0 })
    expect(s(report)).toMatchObject({ inside: 1, hung: 0, good: 0 })
  })
})

describe('a blackhole', () => {
  test('never answers and loads nobody; only patience or a timeout ends the wait', () => {
    const faults = [
      { from: 0, blackhole: 1 },
      { from: 100, well: true as const },
    ]
    expect(c(lived({ faults }, [0]))).toMatchObject({ pending: 1 })
    const report = lived({ faults }, [0, 200], { patience: 50 })
    expect(c(report)).toMatchObject({ left: 1, success: 1, pending: 0 })
    expect(s(report)).toMatchObject({ arrived: 2, vanished: 1, good: 1, meanInside: 10 / 10_000 })
  })
})

describe('become', () => {
  test('changes the condition by hand, and what began before ends as it would have', () => {
    const world = new World()
    const server = new Server(world, 's', { service: fixed(10), workers: 10 })
    new Clients(world, 'c', { to: server, arrivals: arrivalsAt([0, 100, 200, 300]) })
    const change = (at: number, to: ConditionOptions) => world.at(at, () => server.become(to))
    change(5, { slow: 10 })
    change(150, { errors: 1 })
    change(250, {})
    const report = world.run('1s')
    expect(c(report)).toMatchObject({ success: 3, failure: 1 })
    expect(c(report).latency).toMatchObject({ min: 10, max: 100 })
  })

  test('from within a request, the change comes after it', () => {
    const world = new World()
    const server: Server = new Server(world, 's', {
      service: fixed(10),
      workers: 1,
      guard: [breaker({ atLeast: 1 })],
    })
    const clients = new Clients(world, 'c', { to: server, arrivals: arrivalsAt([0, 1, 2]) })
    clients.pipeline.on(() => {})
    world.at(10, () => server.become({ down: true }))
    expect(s(world.run('1s'))).toMatchObject({ arrived: 3, good: 1, reset: 2, inside: 0 })
    expect(server.waiting).toBe(0)
  })
})

describe('a guard', () => {
  test('stands before the workers: what it refuses costs them nothing, and is told as overload', () => {
    const report = lived({ guard: [bulkhead({ slots: 1 })] }, [0, 1, 20])
    expect(s(report)).toMatchObject({ good: 2, refused: 1, mostWaiting: 0 })
    expect(c(report)).toMatchObject({ success: 2, overload: 1 })
  })

  test('may let wait; the server going down ends those too', () => {
    const guard = [queue({ size: 5, atMost: '1s' }), bulkhead({ slots: 1 })]
    expect(c(lived({ guard }, [0, 1, 2]))).toMatchObject({ success: 3 })
    const report = lived(
      {
        guard,
        faults: [
          { from: 5, down: true },
          { from: 50, well: true },
        ],
      },
      [0, 1, 2, 100],
    )
    expect(s(report)).toMatchObject({ reset: 3, good: 1, inside: 0 })
    expect(c(report)).toMatchObject({ failure: 3, success: 1 })
  })

  test('that times out answers, and the work goes on for nobody', () => {
    const report = lived({ service: fixed(100), guard: [bulkhead({ slots: 1 }), timeout({ after: 20 })] }, [0, 50, 150])
    // The slot stays taken until the work has ended: the second finds it full.
    expect(s(report)).toMatchObject({ wasted: 2, refused: 1, good: 0 })
    expect(c(report)).toMatchObject({ failure: 2, overload: 1 })
  })
})

test('a guard that tries again does not do the work twice', () => {
  const guard = [retry({ budget: { ratio: 1 }, backoff: { first: 1 } }), timeout({ after: 20 })]
  const report = lived({ service: fixed(100), workers: 5, guard }, [0])
  expect(s(report)).toMatchObject({ arrived: 1, wasted: 1, good: 0, inside: 0, utilisation: 100 / 50_000 })
  expect(c(report)).toMatchObject({ failure: 1, pending: 0 })
})

test('a fleet: the balancer leaves out the one that fails', () => {
  const world = new World({ seed: 2 })
  const servers = ['one', 'two', 'three'].map((name) => new Server(world, name, { service: fixed(5), workers: 50 }))
  const fleet = new Fleet(servers)
  servers[0]?.become({ errors: 1 })
  new Clients(world, 'c', { to: fleet, arrivals: poisson(300), through: [balance({ endpoints: fleet.endpoints })] })
  const report = world.run('30s')
  const shares = servers.map((server) => server.report().arrived / 9000)
  expect(shares[0]).toBeLessThan(0.02)
  expect(shares[1]).toBeGreaterThan(0.4)
  expect(c(report).failure).toBe(part(report.servers, 'one').failed)
})

test('a fleet without a layer that chooses says so', () => {
  const errors: unknown[] = []
  const world = new World()
  const fleet = new Fleet([new Server(world, 'a', { service: fixed(5) })])
  const clients = new Clients(world, 'c', { to: fleet, arrivals: arrivalsAt([]) })
  clients.pipeline.start(fleet.serve, ({ error }) => errors.push(error))
  expect(String(errors[0])).toContain('a layer that chooses one of its endpoints')
})
