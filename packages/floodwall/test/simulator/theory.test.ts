import {
  Clients,
  EventLoopServer,
  exponential,
  fixed,
  lognormal,
  poisson,
  type Report,
  Server,
  type ServiceTime,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'
import { type Estimate, estimate, lossOfMM1K, pollaczekKhinchine, throughputOfUsers, waitOfMMc } from './queueing.ts'

// The simulator against theory: clients, pipeline, server and statistics together. Twenty seeds a row, each with a warm-up that is forgotten;
// theory must lie within the 99.9 % bounds of their mean, and the bounds must be narrow enough to mean something. Seeds are fixed, so that
// nothing here can fail by chance.

const SERVICE = 0.01

/** One run a seed, of a world that `build` furnishes. */
function runs(build: (world: World) => void, seconds: number): Report[] {
  return Array.from({ length: 20 }, (_, i) => {
    const world = new World({ seed: i + 1 })
    build(world)
    world.run(seconds * 100)
    world.forget()
    return world.run(seconds * 1000)
  })
}

/** A server before which Poisson arrivals queue. */
function queue(rate: number, service: ServiceTime, workers = 1, places?: number): (world: World) => void {
  return (world) => {
    const options = places === undefined ? {} : { queue: places }
    const server = new Server(world, 'server', { service, workers, refusal: 0, ...options })
    new Clients(world, 'clients', { to: server, arrivals: poisson(rate) })
  }
}

const server = ({ servers }: Report) => servers['server'] as NonNullable<(typeof servers)[string]>
const clients = (report: Report) => report.clients['clients'] as NonNullable<(typeof report.clients)[string]>

/** `narrow`: the bounds are at most this share of the value. */
function agrees(measured: Estimate, theory: number, narrow: number): void {
  expect(measured.within / theory, 'the bounds say too little').toBeLessThan(narrow)
  expect(Math.abs(measured.mean - theory), `${measured.mean} ± ${measured.within}`).toBeLessThanOrEqual(measured.within)
}

const mean = (list: readonly Report[], of: (report: Report) => number): Estimate => estimate(list.map(of))

/** What the waiting time implies for all the other means. */
function agreesWithAll(list: readonly Report[], rate: number, workers: number, wait: number, narrow: number): void {
  const rho = (rate * SERVICE) / workers
  agrees(
    mean(list, (r) => (server(r).queueDelay.mean as number) / 1000),
    wait,
    narrow,
  )
  agrees(
    mean(list, (r) => (clients(r).latency.mean as number) / 1000),
    wait + SERVICE,
    narrow,
  )
  agrees(
    mean(list, (r) => server(r).meanWaiting),
    rate * wait,
    narrow,
  )
  agrees(
    mean(list, (r) => server(r).meanInside),
    rate * (wait + SERVICE),
    narrow,
  )
  agrees(
    mean(list, (r) => server(r).utilisation),
    rho,
    0.02,
  )
  agrees(
    mean(list, (r) => clients(r).goodput),
    rate,
    0.02,
  )
}

describe('M/M/1', () => {
  test.each([
    [0.5, 150, 0.06],
    [0.8, 300, 0.08],
  ])('at a load of %d', (rho, seconds, narrow) => {
    const rate = rho / SERVICE
    const wait = (rho * SERVICE) / (1 - rho)
    agreesWithAll(runs(queue(rate, exponential('10ms')), seconds), rate, 1, wait, narrow)
  })

  test('the median and the 99th percentile of the time in the system are those of an exponential', () => {
    const list = runs(queue(50, exponential('10ms')), 150)
    // Mean 20 ms; the histogram reads 3 % off at most.
    for (const [q, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const) {
      const theory = -Math.log(1 - share) * 0.02
      const { mean: found } = mean(list, (r) => (clients(r).latency[q] as number) / 1000)
      expect(Math.abs(found / theory - 1)).toBeLessThan(0.04)
    }
  })
})

describe('M/M/4', () => {
  test.each([
    [0.5, 100, 0.06],
    [0.8, 130, 0.08],
  ])('at a load of %d, by Erlang C', (rho, seconds, narrow) => {
    const rate = (4 * rho) / SERVICE
    const wait = waitOfMMc({ lambda: rate, service: SERVICE }, 4)
    agreesWithAll(runs(queue(rate, exponential('10ms'), 4), seconds), rate, 4, wait, narrow)
  })
})

describe('M/G/1, by Pollaczek and Khinchine', () => {
  test.each([
    [0.5, 150, 0.06],
    [0.8, 200, 0.08],
  ])('M/D/1 at a load of %d', (rho, seconds, narrow) => {
    const rate = rho / SERVICE
    const wait = pollaczekKhinchine({ lambda: rate, service: SERVICE }, SERVICE * SERVICE)
    agreesWithAll(runs(queue(rate, fixed('10ms')), seconds), rate, 1, wait, narrow)
  })

  test('log-normal service', () => {
    const service = lognormal({ median: '8ms', p99: '30ms' })
    const sigma = Math.log(30 / 8) / 2.3263478740408408
    const [first, second] = [0.008 * Math.exp(sigma ** 2 / 2), 0.008 ** 2 * Math.exp(2 * sigma ** 2)]
    expect(service.meanMs / 1000).toBeCloseTo(first, 12)
    const rate = 0.7 / first
    const wait = pollaczekKhinchine({ lambda: rate, service: first }, second)
    agrees(
      mean(runs(queue(rate, service), 200), (r) => (server(r).queueDelay.mean as number) / 1000),
      wait,
      0.06,
    )
  })

  test('an event loop that only computes is one such queue', () => {
    const list = runs((world) => {
      const loop = new EventLoopServer(world, 'server', { service: fixed('10ms'), blocking: 1 })
      new Clients(world, 'clients', { to: loop, arrivals: poisson(80) })
    }, 200)
    agreesWithAll(list, 80, 1, pollaczekKhinchine({ lambda: 80, service: SERVICE }, SERVICE * SERVICE), 0.08)
  })
})

test('M/M/1/5: a full queue turns away what it must', () => {
  const list = runs(queue(90, exponential('10ms'), 1, 4), 150)
  const loss = lossOfMM1K({ lambda: 90, service: SERVICE }, 5)
  agrees(
    mean(list, (r) => server(r).refused / server(r).arrived),
    loss,
    0.06,
  )
  agrees(
    mean(list, (r) => clients(r).overload / clients(r).begun),
    loss,
    0.06,
  )
})

test('users who think: the throughput of a finite population', () => {
  const list = runs((world) => {
    const target = new Server(world, 'server', { service: exponential('10ms') })
    new Clients(world, 'clients', { to: target, users: { count: 12, think: exponential('100ms') } })
  }, 150)
  const throughput = throughputOfUsers(12, 0.1, SERVICE)
  agrees(
    mean(list, (r) => clients(r).goodput),
    throughput,
    0.01,
  )
  // The response time law: users = throughput · (response + think).
  agrees(
    mean(list, (r) => (clients(r).latency.mean as number) / 1000),
    12 / throughput - 0.1,
    0.03,
  )
})

test('an event loop: its utilisation is the blocking share of the load, however long its handlers wait', () => {
  const list = runs((world) => {
    const loop = new EventLoopServer(world, 'server', { service: exponential('50ms'), blocking: 0.1 })
    new Clients(world, 'clients', { to: loop, arrivals: poisson(120) })
  }, 60)
  agrees(
    mean(list, (r) => server(r).utilisation),
    120 * 0.05 * 0.1,
    0.02,
  )
  // At least the service time is in the system, whatever the queue: 6 by Little's law.
  expect(mean(list, (r) => server(r).meanInside).mean).toBeGreaterThan(6)
})
