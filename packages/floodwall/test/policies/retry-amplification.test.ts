import {
  answered,
  balance,
  failed,
  hedge,
  type Layer,
  type Outcome,
  type Pipeline,
  pipeline,
  retry,
  timeout,
} from 'floodwall'
import { Clients, exponential, Fleet, fixed, lognormal, poisson, Server, type Target, World } from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

// What retries add to the load of a target that is down, over several levels of services, and what hedges add and save. The suite
// `npm run bench -- retry` does the same with more seeds, triggers and contenders.

const SEEDS = [1, 2, 3]
const TWENTY = Array.from({ length: 20 }, (_, i) => i + 1)

/** A service that does nothing but call the next one. `told`: it passes on that nobody should retry, as a good wire does. */
function hop(world: World, name: string, layers: readonly Layer[], next: Target, told: boolean): Target {
  const through: Pipeline = pipeline(name, layers, { runtime: world })
  const untold = (o: Outcome<unknown>) => (o.ok ? answered(o.value, o.verdict) : failed(new Error('502'), o.verdict))
  return {
    serve: (call, done) =>
      through.start(next.serve, (outcome) => done(told ? outcome : untold(outcome)), {
        idempotent: true,
        parent: call,
      }),
  }
}

function chain(
  world: World,
  depth: number,
  layers: (level: number) => readonly Layer[],
  last: Target,
  told: boolean,
): Target {
  let next = last
  for (let level = depth; level > 1; level--) next = hop(world, `level ${level}`, layers(level), next, told)
  return next
}

const sum = (counts: readonly number[] = []) => counts.reduce((a, b) => a + b, 0)

describe('a service that fails every request, below a chain of others that all retry', () => {
  const WELL_S = 20
  const STEP_MS = 500

  /** The load in times of what was wanted, from so many seconds after the fault on. */
  const lived = (depth: number, seed: number, told: boolean) => {
    const world = new World({ seed, bucket: STEP_MS })
    const faults = [{ from: `${WELL_S}s`, errors: 1 } as const]
    const last = new Server(world, 'last', { service: fixed('5ms'), workers: 1000, faults })
    const layers = () => [retry()]
    const to = chain(world, depth, layers, last, told)
    new Clients(world, 'clients', { to, through: layers(), arrivals: poisson(100) })
    const { clients, servers } = world.run(`${WELL_S + 30}s`)
    const [wanted, arrived] = [clients['clients']?.series.begun, servers['last']?.series.arrived]
    return (fromS: number, spanS: number) => {
      const [from, until] = [fromS, fromS + spanS].map((s) => ((WELL_S + s) * 1000) / STEP_MS)
      return sum(arrived?.slice(from, until)) / sum(wanted?.slice(from, until))
    }
  }

  test.each([1, 2, 3, 4, 5])('gets at most 1.10 times what was wanted, at depth %d', { timeout: 600_000 }, (depth) => {
    for (const seed of TWENTY) {
      const load = lived(depth, seed, true)
      expect(load(0, 30)).toBeLessThanOrEqual(1.1)
      expect(load(0, 30)).toBeGreaterThan(1.09)
      // What the calls before the fault were worth is not spent at once.
      expect(load(0, 5)).toBeLessThanOrEqual(1.1)
      // Of any 5 s it is a tenth as well, but for the two retries that a backoff moves into it.
      for (let from = 0.5; from <= 25; from += STEP_MS / 1000) expect(load(from, 5)).toBeLessThan(1.107)
    }
  })

  test('and more with each level where nobody is told', () => {
    for (const depth of [2, 3, 5]) expect(lived(depth, 1, false)(0, 30)).toBeGreaterThan(1.08 ** depth)
  })
})

describe('a service that is ten times slower for 20 s, below a chain of three', () => {
  const lived = (seed: number, told: boolean, budget: object) => {
    const world = new World({ seed })
    const faults = [{ from: '20s', slow: 10 } as const, { from: '40s', well: true } as const]
    const last = new Server(world, 'last', { service: exponential('100ms'), workers: 10, queue: 50, faults })
    const layers = (level: number) => [retry(budget), timeout({ after: `${4 - level}s` })]
    const to = chain(world, 3, layers, last, told)
    new Clients(world, 'clients', { to, through: layers(1), arrivals: poisson(80) })
    const { clients, servers } = world.run('60s')
    const load = (from: number, until: number) =>
      sum(servers['last']?.series.arrived.slice(from, until)) / sum(clients['clients']?.series.begun.slice(from, until))
    return load
  }

  test.each(SEEDS)('gets 1.1 times what was wanted meanwhile, and 1.05 from 5 s after it on (seed %d)', (seed) => {
    const load = lived(seed, true, {})
    expect(load(20, 40)).toBeLessThan(1.11)
    for (let from = 45; from <= 55; from++) expect(load(from, from + 5)).toBeLessThanOrEqual(1.05)
    expect(lived(seed, false, { budget: { ratio: 1, minimum: 1e6 } })(25, 40)).toBeGreaterThan(20)
  })
})

describe('one of five servers is ten times slower', () => {
  const lived = (layers: readonly Layer[], seed: number) => {
    const world = new World({ seed })
    const servers = [1, 2, 3, 4, 5].map((n) => {
      const faults = n === 1 ? [{ from: '20s', slow: 10 } as const] : []
      return new Server(world, `s${n}`, { service: lognormal({ median: '10ms', p99: '40ms' }), workers: 200, faults })
    })
    const fleet = new Fleet(servers)
    const through = [...layers, balance({ endpoints: fleet.endpoints })]
    const clients = new Clients(world, 'shop', { to: fleet, through, arrivals: poisson(200) })
    world.run('30s')
    world.forget()
    world.run('60s')
    const { latency, begun } = clients.report()
    const arrived = sum(servers.map((server) => server.report().arrived))
    return { p99: latency.p99 ?? 0, p999: latency.p999 ?? 0, extra: arrived / begun - 1 }
  }

  test.each(SEEDS)(
    'a hedge at p95 takes a third off the 99th percentile for a twentieth more load (seed %d)',
    (seed) => {
      const [without, hedged] = [lived([], seed), lived([hedge()], seed)]
      expect(without.extra).toBe(0)
      expect(hedged.p99 / without.p99).toBeLessThan(0.67)
      expect(hedged.p999 / without.p999).toBeLessThan(0.5)
      expect(hedged.extra).toBeGreaterThan(0.04)
      expect(hedged.extra).toBeLessThan(0.06)
    },
  )
})
