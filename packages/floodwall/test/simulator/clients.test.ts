import { answered, bulkhead, deadline, type Layer, pipeline, queue, retry, timeout } from 'floodwall'
import {
  arrivalsAt,
  Clients,
  type ClientsOptions,
  type ClientsReport,
  exponential,
  fixed,
  poisson,
  Server,
  type ServerOptions,
  type ServerReport,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

interface Scene {
  readonly world: World
  readonly server: Server
  readonly clients: Clients
  run(span: number): { c: ClientsReport; s: ServerReport }
}

function scene(wants: Omit<ClientsOptions, 'to'>, options: Partial<ServerOptions> = {}): Scene {
  const world = new World()
  const server = new Server(world, 's', { service: fixed(100), ...options })
  const clients = new Clients(world, 'c', { to: server, ...wants })
  return {
    ...{ world, server, clients },
    run(span) {
      world.run(span)
      return { c: clients.report(), s: server.report() }
    },
  }
}

const slotsUsed = (clients: Clients): unknown =>
  (clients.pipeline.inspect() as unknown as { layers: { kind: string; used?: number }[] }).layers.find(
    ({ kind }) => kind === 'bulkhead',
  )?.used

describe('patience', () => {
  test('frees the caller and his slot, once, while the server works on', () => {
    const { clients, run, server } = scene({
      arrivals: arrivalsAt([0]),
      patience: 30,
      through: [bulkhead({ slots: 2 })],
    })
    expect(run(29).c).toMatchObject({ pending: 1, left: 0 })
    expect(slotsUsed(clients)).toBe(1)
    expect(run(1).c).toMatchObject({ pending: 0, left: 1, begun: 1 })
    expect([slotsUsed(clients), server.inside]).toEqual([0, 1])
    const { c, s } = run(100)
    expect([c.left, c.success, s.wasted, s.good, server.inside]).toEqual([1, 0, 1, 0, 0])
    expect(slotsUsed(clients)).toBe(0)
  })

  test('that ends when the answer comes is decided once', () => {
    for (const patience of [99, 100, 101]) {
      const { run } = scene({ arrivals: arrivalsAt([0, 1000]), patience })
      const { c } = run(5000)
      expect(c.left + c.success).toBe(2)
      expect(c.left, `${patience} ms`).toBe(patience < 100 ? 2 : c.left)
      if (patience > 100) expect(c.left).toBe(0)
    }
  })

  test('ends a wait in a backoff of the pipeline, and no attempt follows', () => {
    const layers = [retry({ attempts: 5, backoff: { first: '10s', atMost: '10s' }, budget: { ratio: 1 } })]
    const { run, world } = scene(
      { arrivals: arrivalsAt([0]), patience: '1s', through: layers },
      { service: fixed(10), faults: [{ from: 0, errors: 1 }] },
    )
    const { c, s } = run(60_000)
    expect([c.left, c.pending, s.arrived]).toEqual([1, 0, 1])
    expect(world.report().clients['c']?.attempts).toBe(1)
  })

  test('is over although a layer found an answer for him', () => {
    const stale: Layer = {
      kind: 'stale',
      options: {},
      build: ({ path }) => ({
        kind: 'stale',
        path,
        run: (call, next, done) => next(call, () => done(answered('old'))),
      }),
    }
    const { run } = scene({ arrivals: arrivalsAt([0]), patience: 30, through: [stale], retries: 1 })
    expect(run(1000).c).toMatchObject({ left: 1, success: 0, pending: 0, attempts: 2, latency: { count: 0 } })
  })

  test('spends no evidence: leaving says nothing about the server', () => {
    const { clients, run } = scene({ arrivals: poisson(100), patience: 20 }, { workers: 100 })
    run(10_000)
    expect((clients.pipeline.inspect() as unknown as { calls: object }).calls).toMatchObject({
      failure: 0,
      timeout: 0,
      success: 0,
    })
  })
})

describe('a server that notices', () => {
  test('lets its guard refuse what can no longer be in time', () => {
    for (const notices of [true, false]) {
      const { run } = scene(
        { arrivals: arrivalsAt([0, 1]), through: [deadline({ within: 150 })] },
        { notices, guard: [queue({ atMost: '1s' }), bulkhead({ slots: 1 }), deadline({ within: '1s', floor: 60 })] },
      )
      // 51 ms are left for the second when the slot is free.
      expect(run(1000).s).toMatchObject(notices ? { good: 1, refused: 1 } : { good: 1, wasted: 1 })
    }
  })

  test('does not begin what nobody waits for', () => {
    for (const notices of [false, true]) {
      const { run } = scene({ arrivals: arrivalsAt([0, 1, 2, 3]), patience: 150 }, { notices })
      const { s } = run(1000)
      // The first is answered at 100 ms, the second would be at 200: it has begun when its caller leaves.
      expect(s).toMatchObject(notices ? { good: 1, wasted: 1, dropped: 2 } : { good: 1, wasted: 3, dropped: 0 })
    }
  })

  test('knows the deadline of its caller, and tells what it calls', () => {
    const waits = (notices: boolean): number => {
      const world = new World()
      const below = new Server(world, 'below', { service: fixed(1000) })
      const above = new Server(world, 'above', { service: fixed(10), notices, calls: { to: below } })
      new Clients(world, 'c', { to: above, arrivals: arrivalsAt([0]), through: [deadline({ within: 50 })] })
      world.run(60)
      return above.inside
    }
    expect([waits(true), waits(false)]).toEqual([0, 1])
  })
})

describe("clients' own retries", () => {
  test('follow a failure, a refusal and lost patience; operations are counted once', () => {
    const { run } = scene({ arrivals: arrivalsAt([0]), retries: 3 }, { faults: [{ from: 0, errors: 1 }] })
    expect(run(10_000).c).toMatchObject({ begun: 1, attempts: 4, failure: 1, success: 0 })
    const impatient = scene({ arrivals: arrivalsAt([0]), retries: 2, patience: 50 }).run(10_000)
    expect(impatient.c).toMatchObject({ begun: 1, attempts: 3, left: 1 })
    expect(impatient.s).toMatchObject({ arrived: 3, wasted: 3 })
    const refused = scene({
      arrivals: arrivalsAt([0, 1]),
      retries: 1,
      through: [bulkhead({ slots: 1 })],
    }).run(10_000)
    expect(refused.c).toMatchObject({ begun: 2, attempts: 3, success: 1, refused: 1, refusals: { full: 1 } })
  })

  test('wait with full jitter below a ceiling that doubles', () => {
    const attempts: number[] = []
    const world = new World({ trace: (at, step) => void (step === 'attempt' && attempts.push(at)) })
    const server = new Server(world, 's', { service: fixed(0), faults: [{ from: 0, errors: 1 }] })
    new Clients(world, 'c', {
      to: server,
      arrivals: arrivalsAt([0]),
      retries: 6,
      backoff: { first: 100, atMost: 400 },
    })
    world.run('1m')
    const gaps = attempts.slice(1).map((at, i) => at - (attempts[i] as number))
    expect(gaps.length).toBe(6)
    const ceilings = [100, 200, 400, 400, 400, 400]
    gaps.forEach((gap, i) => expect(gap).toBeLessThan(ceilings[i] as number))
    expect(Math.max(...gaps)).toBeGreaterThan(100)
  })

  test('that succeed count from the beginning of the operation', () => {
    const { run } = scene(
      { arrivals: arrivalsAt([0]), retries: 1 },
      {
        faults: [
          { from: 0, errors: 1 },
          { from: 50, well: true },
        ],
      },
    )
    // It began when everything failed, and again at 100 ms.
    const { c } = run(1000)
    expect([c.success, c.latency.max]).toEqual([1, 200])
  })
})

describe('users', () => {
  test('think, ask, wait and think again: never more at once than there are', () => {
    const { world, run } = scene({ users: { count: 3, think: fixed(50) } }, { service: fixed(100), workers: 3 })
    // 150 ms a round.
    const { c, s } = run(1500)
    expect([c.success, s.mostWaiting, s.meanInside < 3]).toEqual([30, 0, true])
    expect(world.report().servers['s']?.arrived).toBe(30)
  })

  test('stop: what is pending goes on', () => {
    const { clients, run } = scene({ users: { count: 3, think: fixed(50) } }, { workers: 3 })
    run(60)
    clients.stop()
    expect(run(10_000).c).toMatchObject({ begun: 3, success: 3, pending: 0 })
  })
})

describe('a pipeline on the way', () => {
  test('that two groups of clients share has one breaker and one bulkhead', () => {
    const world = new World()
    const server = new Server(world, 's', { service: fixed(100), workers: 10 })
    const shared = pipeline('gate', [bulkhead({ slots: 1 })], { runtime: world })
    const first = new Clients(world, 'a', { to: server, through: shared, arrivals: arrivalsAt([0]) })
    const second = new Clients(world, 'b', { to: server, through: shared, arrivals: arrivalsAt([1]) })
    world.run('1s')
    expect([first.report().success, second.report().refused, first.pipeline === second.pipeline]).toEqual([1, 1, true])
  })

  test('of another world or time is refused', () => {
    const [world, other] = [new World(), new World()]
    const server = new Server(world, 's', { service: fixed(1) })
    for (const strange of [pipeline('p', []), pipeline('p', [], { runtime: other })]) {
      const make = () => new Clients(world, 'c', { to: server, through: strange, arrivals: poisson(1) })
      expect(make).toThrow('c.through: expected a pipeline made with { runtime: world }, got p')
    }
  })

  test('has its events in the report, a thousand at most', () => {
    const { world } = scene({ arrivals: poisson(40), through: [bulkhead({ slots: 1 }), timeout({ after: 1 })] })
    const { events, eventsInAll } = world.run('30m')
    expect(events[0]).toMatchObject({ type: 'refused', path: 'c/bulkhead', reason: 'full' })
    expect(events.length).toBe(1000)
    expect(eventsInAll).toBeGreaterThan(1050)
  })
})

test('a warm-up is forgotten: counts and means begin anew, who is pending has begun', () => {
  const { world, run } = scene({ arrivals: poisson(50) }, { service: exponential(30), workers: 2 })
  const before = run(10_000)
  world.forget()
  const { clients, servers, sinceMs } = world.report()
  const pending = before.c.pending
  expect([sinceMs, clients['c']?.begun, clients['c']?.success, clients['c']?.latency.count]).toEqual([
    10_000,
    pending,
    0,
    0,
  ])
  expect(servers['s']).toMatchObject({ arrived: before.s.inside, good: 0, mostWaiting: before.s.inside - 2 })
  const after = run(10_000)
  expect(after.c.begun).toBe(after.c.success + after.c.pending)
  expect(after.c.series.begun.length).toBe(20)
})
