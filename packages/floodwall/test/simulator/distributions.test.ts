import {
  arrivalsAt,
  exponential,
  fixed,
  lognormal,
  mixture,
  poisson,
  type ServiceTime,
  sampled,
  steps,
  World,
} from 'floodwall/simulator'
import { describe, expect, test } from 'vitest'

const N = 200_000
const chance = (name: string) => new World({ seed: 11 }).chance(name)

function drawn(service: ServiceTime): number[] {
  const random = chance('draws')
  return Array.from({ length: N }, () => service.draw(random)).sort((a, b) => a - b)
}

const mean = (list: readonly number[]): number => list.reduce((sum, x) => sum + x, 0) / list.length

/** The largest distance between the drawn and the true distribution, times the root of their number (Kolmogorov and Smirnov). */
function distance(sorted: readonly number[], shareBelow: (x: number) => number): number {
  const gaps = sorted.map((x, i) => Math.max(Math.abs(shareBelow(x) - i / N), Math.abs(shareBelow(x) - (i + 1) / N)))
  return Math.max(...gaps.filter((_, i) => i % 100 === 0)) * Math.sqrt(N)
}

/** 99.9 % of such distances are below. */
const KS999 = 1.95

describe('service times', () => {
  test('exponential', () => {
    const list = drawn(exponential('20ms'))
    expect(distance(list, (x) => 1 - Math.exp(-x / 20))).toBeLessThan(KS999)
    expect(list[0]).toBeGreaterThan(0)
  })

  test('log-normal, by its two percentiles', () => {
    const service = lognormal({ median: '20ms', p99: '200ms' })
    const list = drawn(service)
    expect(list[N * 0.5]).toBeCloseTo(20, -0.5)
    expect((list[N * 0.99] as number) / 200).toBeCloseTo(1, 1)
    expect(mean(list) / service.meanMs).toBeCloseTo(1, 1)
    // The logarithm is symmetrical.
    expect((list[N * 0.01] as number) / 2).toBeCloseTo(1, 1)
  })

  test('sampled: each of the values, equally often', () => {
    const service = sampled([1, 2, 2, '6ms'])
    const list = drawn(service)
    expect(service.meanMs).toBe(2.75)
    const share = (ms: number) => list.filter((x) => x === ms).length / N
    expect([share(1), share(2), share(6)].map((x) => Math.round(x * 100))).toEqual([25, 50, 25])
  })

  test('a mixture: each kind by its share', () => {
    const service = mixture([
      { share: 0.9, of: fixed(5) },
      { share: 0.1, of: fixed('2s') },
    ])
    const list = drawn(service)
    expect(service.meanMs).toBeCloseTo(204.5, 9)
    expect(list.filter((ms) => ms === 2000).length / N).toBeCloseTo(0.1, 2)
    expect(new Set(list)).toEqual(new Set([5, 2000]))
  })
})

describe('chance', () => {
  test('is uniform between 0 and 1, neither included', () => {
    const random = chance('uniform')
    const list = Array.from({ length: N }, () => random.uniform()).sort((a, b) => a - b)
    expect(distance(list, (x) => x)).toBeLessThan(KS999)
    expect(list.at(-1)).toBeLessThan(1)
    expect(list[0]).toBeGreaterThan(0)
  })

  test('is normal', () => {
    const random = chance('normal')
    const list = Array.from({ length: N }, () => random.normal())
    expect(mean(list)).toBeCloseTo(0, 1.5)
    expect(mean(list.map((x) => x * x))).toBeCloseTo(1, 1.5)
    expect(list.filter((x) => Math.abs(x) > 1.959964).length / N).toBeCloseTo(0.05, 2)
  })

  test('has a stream for each name and seed, and they do not resemble each other', () => {
    const streams = ['a', 'b', 'a/waits'].map((name) => chance(name))
    streams.push(new World({ seed: 12 }).chance('a'))
    const lists = streams.map((random) => Array.from({ length: 10_000 }, () => random.uniform() - 0.5))
    for (let i = 0; i < lists.length; i++) {
      for (let j = i + 1; j < lists.length; j++) {
        const together = mean((lists[i] as number[]).map((x, k) => x * (lists[j]?.[k] as number))) * 12
        expect(Math.abs(together), `${i} and ${j}`).toBeLessThan(0.04)
      }
    }
  })

  test('is the same on every version of Node', () => {
    const random = chance('vector')
    expect([random.uniform(), random.exponential(), random.normal(), random.below(1000)]).toMatchInlineSnapshot(`
      [
        0.08300611434970051,
        0.13750096283101193,
        -0.8476650688061486,
        322,
      ]
    `)
  })
})

describe('arrivals', () => {
  function times(course: { next(): number }, until: number): number[] {
    const list: number[] = []
    for (let at = course.next(); at < until; at = course.next()) list.push(at)
    return list
  }

  test('Poisson: the gaps are exponential, and a second has as many as the variance says', () => {
    const list = times(poisson(100).begin(chance('c'), 0), 2_000_000)
    const gaps = list.slice(1).map((at, i) => at - (list[i] as number))
    expect(mean(gaps)).toBeCloseTo(10, 0.5)
    const counts = new Array<number>(2000).fill(0)
    for (const at of list) counts[Math.floor(at / 1000)]!++
    const average = mean(counts)
    const variance = mean(counts.map((n) => (n - average) * (n - average)))
    expect(variance / average).toBeCloseTo(1, 0.5)
  })

  test('steps: each rate in its time, none before the first and none where it is 0', () => {
    const plan = steps([
      { from: '10s', rate: 50 },
      { from: '20s', rate: 0 },
      { from: '30s', rate: 500 },
      { from: '40s', rate: 0 },
    ])
    const list = times(plan.begin(chance('c'), 0), Number.POSITIVE_INFINITY)
    const between = (from: number, until: number) => list.filter((at) => at >= from && at < until).length
    expect([between(0, 10_000), between(20_000, 30_000), between(40_000, 1e9)]).toEqual([0, 0, 0])
    expect(between(10_000, 20_000) / 500).toBeCloseTo(1, 0.5)
    expect(between(30_000, 40_000) / 5000).toBeCloseTo(1, 1)
    expect(list).toEqual([...list].sort((a, b) => a - b))
  })

  test('nobody comes before the population is there', () => {
    const list = times(
      steps([
        { from: 0, rate: 100 },
        { from: 500, rate: 10 },
      ]).begin(chance('c'), 1000),
      20_000,
    )
    expect(list[0]).toBeGreaterThan(1000)
    expect(list.length / 190).toBeCloseTo(1, 0.5)
    expect(times(arrivalsAt([1, 5, 5, 9]).begin(chance('c'), 5), 100)).toEqual([5, 5, 9])
    expect(times(arrivalsAt([1, 5]).begin(chance('c'), 6), 100)).toEqual([])
  })

  test('a course is fresh each time', () => {
    const plan = poisson(10)
    const [one, other] = [plan.begin(chance('c'), 0), plan.begin(chance('c'), 0)]
    one.next()
    expect(other.next()).toBe(plan.begin(chance('c'), 0).next())
  })
})
