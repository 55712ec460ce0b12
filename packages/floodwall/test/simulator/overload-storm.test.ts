import { type Layer, overload } from 'floodwall'
import { Clients, exponential, poisson, type Report, Server, World } from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

// Metastability (Bronson and others, OSDI 2022): clients who give up after a second and try again, three times. Something makes the server slow
// for ten seconds, and goes away. Does the load go with it? floodwall stands before the server only; the clients know nothing of it.

const RATE = 80
const UNTIL_S = 30
const SEEDS = [1, 2, 3]
const MANY_SEEDS = Array.from({ length: 20 }, (_, i) => i + 1)

function lived(guard: readonly Layer[], fault: { slow: number } | { hangs: number }, seed: number): Report {
  const world = new World({ seed })
  const server = new Server(world, 'stock', {
    // 100 a second.
    ...{ service: exponential('100ms'), workers: 10, guard },
    faults: [
      { from: '20s', ...fault },
      { from: UNTIL_S * 1000, well: true },
    ],
  })
  new Clients(world, 'shop', { to: server, arrivals: poisson(RATE), patience: '1s', retries: 3 })
  return world.run('60s')
}

const mean = (series: readonly number[] = [], from: number, until: number) =>
  series.slice(from, until).reduce((sum, n) => sum + n, 0) / (until - from)
const answered = (report: Report, from: number, until: number) =>
  mean(report.clients['shop']?.series.success, from, until) / mean(report.clients['shop']?.series.begun, from, until)
const load = (report: Report, from: number, until: number) =>
  mean(report.servers['stock']?.series.arrived, from, until) / RATE

describe.each([
  ['ten times slower', { slow: 10 }],
  ['three times slower', { slow: 3 }],
  ['nothing answers', { hangs: 1 }],
] as const)('%s', (_, fault) => {
  test.each(SEEDS)('seed %d: without floodwall it does not come back', (seed) => {
    const report = lived([], fault, seed)
    expect(answered(report, 5, 20)).toBeGreaterThan(0.9)
    expect(answered(report, 35, 60)).toBeLessThan(0.1)
    expect(load(report, 35, 60)).toBeGreaterThan(3.5)
  })

  test.each(MANY_SEEDS)('seed %d: with floodwall it is back within five seconds', (seed) => {
    const report = lived([overload()], fault, seed)
    expect(answered(report, 5, 20)).toBeGreaterThan(0.9)
    for (let from = UNTIL_S + 5; from <= 55; from++) expect(answered(report, from, from + 5)).toBeGreaterThan(0.9)
    expect(load(report, 35, 60)).toBeLessThan(1.15)
  })
})

test('a server that has just started is no storm: its first calls are few, and quick or slow by chance', () => {
  const seeds = Array.from({ length: 100 }, (_, i) => i + 1)
  const shares = seeds.map((seed) => {
    const world = new World({ seed })
    const server = new Server(world, 'stock', { service: exponential('100ms'), workers: 10, guard: [overload()] })
    new Clients(world, 'shop', { to: server, arrivals: poisson(RATE), patience: '1s', retries: 3 })
    return answered(world.run('12s'), 2, 12)
  })
  // Of the load that it can carry four fifths: what some do not reach is chance, and more than that happens to none.
  expect(Math.min(...shares)).toBeGreaterThan(0.8)
  expect(shares.filter((share) => share < 0.95).length).toBeLessThanOrEqual(6)
})
