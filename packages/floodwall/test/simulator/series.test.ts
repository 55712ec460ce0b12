import fc from 'fast-check'
import { Clients, exponential, poisson, Server, World } from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'
import { Level } from '../../src/simulator/level.ts'
import { Series } from '../../src/simulator/series.ts'

const sum = (list: readonly number[]): number => list.reduce((total, x) => total + x, 0)

describe('a series', () => {
  test('holds all that was added, in a thousand buckets at most', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 100 }), (times) => {
        const series = new Series(10)
        for (const at of times) series.add(at, 1)
        const now = Math.max(...times) + 1
        const buckets = series.upTo(now)
        expect(sum(buckets)).toBe(times.length)
        expect(buckets.length).toBeLessThanOrEqual(1000)
      }),
      { seed: 6 },
    )
  })

  test('keeps the place of each while its buckets widen', () => {
    const series = new Series(1)
    for (let at = 0; at < 1000; at++) series.add(at, at % 2)
    expect(series.upTo(1000).length).toBe(500)
    expect(new Set(series.upTo(1000))).toEqual(new Set([1]))
    series.add(100_000, 7)
    const buckets = series.upTo(100_001)
    // 128 ms each: eight of them hold the first second.
    expect([buckets.length, sum(buckets.slice(0, 8)), buckets.at(-1)]).toEqual([782, 500, 7])
  })

  test('spreads a span over the buckets that it covers', () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.nat(5000), (a, b) => {
        const [from, until] = [Math.min(a, b) / 3, Math.max(a, b) / 3]
        const series = new Series(7)
        series.spread(from, until, 2)
        expect(sum(series.upTo(until + 1))).toBeCloseTo(2 * (until - from), 6)
      }),
      { seed: 7 },
    )
    const series = new Series(10)
    series.spread(5, 25, 1)
    expect(series.upTo(30)).toEqual([5, 10, 5])
  })
})

describe('a level', () => {
  test('is the mean over time, bucket by bucket, the young last one included', () => {
    const level = new Level(10)
    level.change(4, 5)
    level.change(-3, 15)
    // 0 until 5, 4 until 15, 1 from then on.
    expect(level.upTo(24)).toEqual([2, 2.5, 1])
    expect(level.mean(25)).toBe((40 + 10) / 25)
    expect(level.most).toBe(4)
    level.forget(25)
    expect([level.mean(25), level.most]).toEqual([1, 1])
    level.change(1, 35)
    expect([level.mean(45), level.most]).toEqual([1.5, 2])
    expect(level.upTo(45)).toEqual([2, 2.5, 1, 1.5, 2])
  })
})

test('a report is as large after a day as after an hour', () => {
  const world = new World({ bucket: '1s' })
  const server = new Server(world, 's', { service: exponential('50ms') })
  new Clients(world, 'c', { to: server, arrivals: poisson(0.5) })
  const hour = JSON.stringify(world.run('1h')).length
  const report = world.run('23h')
  expect(JSON.stringify(report).length).toBeLessThan(2 * hour)
  expect(report.bucketMs).toBe(128_000)
  expect(report.servers['s']?.series.busy.length).toBe(675)
  expect(sum(report.clients['c']?.series.begun ?? [])).toBe(report.clients['c']?.begun)
})
