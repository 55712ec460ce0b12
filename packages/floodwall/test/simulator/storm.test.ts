import { breaker, bulkhead, type Layer, retry, timeout } from 'floodwall'
import { Clients, exponential, poisson, type Report, Server, World } from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

// The test of a metastable failure (Bronson and others, "Metastable Failures in the Wild", OSDI 2022): take the trigger away, and see whether it
// comes back by itself. Retries are what most often keeps it down.

const RATE = 80
/** 10 workers of 100 ms: 100 a second. */
const CAPACITY = 100
const FAULT = { from: 20, until: 30 }
const SEEDS = [1, 2, 3, 4, 5]

interface Way {
  readonly through: () => readonly Layer[]
  /** The clients' own. */
  readonly retries: number
}

/** Nothing on the way; who does not get an answer within a second tries again at once, three times. */
const NAIVE: Way = { through: () => [], retries: 3 }

/** As many tries, made by floodwall. */
const FLOODWALL: Way = {
  through: () => [
    retry({ attempts: 4 }),
    breaker({ openFor: '1s' }),
    bulkhead({ slots: 40 }),
    timeout({ after: '1s' }),
  ],
  retries: 0,
}

/** Clients who insist, before whom stands floodwall. */
const INSISTENT: Way = {
  through: () => [breaker({ openFor: '1s' }), bulkhead({ slots: 40 }), timeout({ after: '1s' })],
  retries: 3,
}

function lived({ through, retries }: Way, seed: number): Report {
  const world = new World({ seed })
  const server = new Server(world, 'stock', {
    ...{ service: exponential('100ms'), workers: 10 },
    faults: [
      { from: FAULT.from * 1000, slow: 10 },
      { from: FAULT.until * 1000, well: true },
    ],
  })
  new Clients(world, 'shop', {
    to: server,
    through: through(),
    arrivals: poisson(RATE),
    patience: '1.2s',
    retries: retries,
  })
  return world.run('60s')
}

/** A mean over whole seconds. */
function rate(series: readonly number[], from: number, until: number): number {
  return series.slice(from, until).reduce((sum, n) => sum + n, 0) / (until - from)
}

const arrived = (report: Report, from: number, until: number) =>
  rate(report.servers['stock']?.series.arrived ?? [], from, until)
const answered = (report: Report, from: number, until: number) =>
  rate(report.clients['shop']?.series.success ?? [], from, until)

describe.each(SEEDS)('seed %d', (seed) => {
  test('without floodwall the load multiplies, and the server does not come back', () => {
    const report = lived(NAIVE, seed)
    expect(arrived(report, 5, 20) / RATE).toBeLessThan(1.1)
    expect(answered(report, 5, 20) / RATE).toBeGreaterThan(0.9)
    // Four attempts for each, and half a minute after the trigger it is the same.
    expect(arrived(report, 25, 30) / RATE).toBeGreaterThan(3.5)
    expect(arrived(report, 50, 60) / RATE).toBeGreaterThan(3.5)
    expect(answered(report, 50, 60) / RATE).toBeLessThan(0.1)
    // It works all the time, for those who have left.
    expect(rate(report.servers['stock']?.series.wasted ?? [], 50, 60) / CAPACITY).toBeGreaterThan(0.9)
  })

  test('with floodwall the load does not, and five seconds after the trigger all is well', () => {
    const report = lived(FLOODWALL, seed)
    expect(arrived(report, 20, 30) / RATE).toBeLessThan(1.1)
    expect(arrived(report, 35, 60) / RATE).toBeLessThan(1.05)
    expect(answered(report, 35, 60) / RATE).toBeGreaterThan(0.9)
  })

  test('clients who insist are stopped before the server', () => {
    const report = lived(INSISTENT, seed)
    expect(arrived(report, 20, 30) / RATE).toBeLessThan(1.1)
    expect(answered(report, 40, 60) / RATE).toBeGreaterThan(0.9)
  })
})
