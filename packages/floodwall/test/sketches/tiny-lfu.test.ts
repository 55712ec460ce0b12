import { tinyLfu } from 'floodwall'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { FrequencySketch } from '../../src/algorithms/sketches/frequency-sketch.ts'

const SEED = [0.2, 0.7, 0.1, 0.9] as const

test('the worked example: a scan of 10,000 values drives next to nobody out who was used more than once', () => {
  const evicted: (number | string)[] = []
  const cache = tinyLfu<number | string, true>({ capacity: 100, seed: SEED, onEvict: (key) => evicted.push(key) })
  const regulars = Array.from({ length: 90 }, (_, i) => `regular ${i}`)
  const use = (key: number | string) => void (cache.get(key) ?? cache.add(key, true))
  for (let round = 0; round < 4; round++) for (const key of regulars) use(key)
  for (let i = 0; i < 10_000; i++) {
    use(i)
    use(regulars[i % 90] as string)
  }
  expect(regulars.filter((key) => !cache.contains(key))).toEqual([])
  // One stood in the window when the scan began.
  expect(evicted.filter((key) => typeof key === 'string').length).toBeLessThanOrEqual(1)
})

test('what was used often long ago goes for what is used now', () => {
  const cache = tinyLfu<string, true>({ capacity: 50, seed: SEED })
  const use = (key: string) => void (cache.get(key) ?? cache.add(key, true))
  for (let round = 0; round < 20; round++) for (let i = 0; i < 50; i++) use(`old ${i}`)
  for (let round = 0; round < 40; round++) for (let i = 0; i < 50; i++) use(`new ${i}`)
  const isThere = (name: string) =>
    Array.from({ length: 50 }, (_, i) => cache.contains(`${name} ${i}`)).filter(Boolean).length
  expect(isThere('new')).toBeGreaterThan(40)
})

describe('the sketch', () => {
  test('is never below the true count, up to 15, and seldom above it', () => {
    const sketch = new FrequencySketch(1000, SEED)
    const random = seeded(9)
    const counts = new Map<string, number>()
    for (let i = 0; i < 3000; i++) {
      const key = `value ${Math.floor(random() * random() * 1000)}`
      sketch.add(key)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    let above = 0
    for (const [key, count] of counts) {
      expect(sketch.count(key)).toBeGreaterThanOrEqual(Math.min(15, count))
      if (sketch.count(key) > Math.min(15, count)) above++
    }
    expect(above / counts.size).toBeLessThan(0.02)
  })

  test('halves what it knows after ten uses for each place', () => {
    const sketch = new FrequencySketch(10, SEED)
    for (let i = 0; i < 12; i++) sketch.add('often')
    for (let i = 0; i < 87; i++) sketch.add('other')
    expect(sketch.count('often')).toBe(12)
    sketch.add('other')
    expect([sketch.count('often'), sketch.count('other')]).toEqual([6, 7])
    sketch.clear()
    expect(sketch.count('often')).toBe(0)
  })

  test('takes any value, of any length', () => {
    const sketch = new FrequencySketch(10, SEED)
    const values: unknown[] = [1, '1', true, 1n, Number.NaN, 0.5, Symbol('s'), 'x'.repeat(1_000_000)]
    for (const value of values) sketch.add(value)
    for (const value of values) expect(sketch.count(value)).toBeGreaterThanOrEqual(1)
  })
})
