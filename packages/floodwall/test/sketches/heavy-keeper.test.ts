import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { KeyHash } from '../../src/algorithms/keys/hash.ts'
import { HeavyKeeper } from '../../src/algorithms/sketches/heavy-keeper.ts'
import { ExactCounts, zipf } from './heavy-keeper-streams.ts'

const hash = new KeyHash([0.1, 0.2, 0.3, 0.4])
const hashOf = (key: number): number => hash.ofNumber(key) >>> 0

test('alone in its cells a key is counted exactly, whatever it weighs', () => {
  const keeper = new HeavyKeeper({ width: 64, depth: 3 }, () => 0.5)
  expect(keeper.add(7, 1, 1)).toBe(1)
  expect(keeper.add(7, 2.5, 1)).toBe(3.5)
  expect(keeper.add(7, 1e15, 1)).toBe(1e15 + 3.5)
  expect([keeper.count(7), keeper.count(8)]).toEqual([1e15 + 3.5, 0])
})

describe('in a cell of another', () => {
  const one = (dice: () => number) => new HeavyKeeper({ width: 1, depth: 1 }, dice)

  test('a count of 1 gives way with probability 1 / 1.08', () => {
    for (const [dice, mine, its] of [
      [1 / 1.08 - 1e-9, 1, 0],
      [1 / 1.08 + 1e-9, 0, 1],
    ] as const) {
      const keeper = one(() => dice)
      keeper.add(1, 1, 1)
      expect(keeper.add(2, 1, 1)).toBe(mine)
      expect([keeper.count(2), keeper.count(1)]).toEqual([mine, its])
    }
  })

  test('who wears the last one down takes the cell with the units that are left', () => {
    const keeper = one(() => 0)
    keeper.add(1, 3, 1)
    expect(keeper.add(2, 2, 1)).toBe(0)
    expect(keeper.count(1)).toBe(1)
    expect(keeper.add(2, 5, 1)).toBe(5)
    expect(keeper.count(1)).toBe(0)
  })

  test('a large count is firm: a weight of a million costs no million steps, and changes nothing', () => {
    let drawn = 0
    const keeper = one(() => {
      drawn++
      return 0.999
    })
    keeper.add(1, 300, 1)
    expect(keeper.add(2, 1e6, 1)).toBe(0)
    expect([keeper.count(1), drawn]).toEqual([300, 0])
  })

  test('a weight draws at most once for each unit that it wears down', () => {
    let drawn = 0
    const dice = seeded(3)
    const keeper = one(() => {
      drawn++
      return dice()
    })
    keeper.add(1, 200, 1)
    keeper.add(2, 1e9, 1)
    expect(drawn).toBeLessThanOrEqual(201)
    // 1.08^200 and 1.08^199 ... are 65 million units, on average.
    expect(keeper.count(1)).toBe(0)
    expect(Math.abs(1e9 - keeper.count(2) - 6.5e7)).toBeLessThan(3e7)
  })

  test('a weight of n wears as n units do, on average', () => {
    const heldAfter = (adds: number, weight: number) => {
      const dice = seeded(5)
      let sum = 0
      for (let run = 0; run < 2000; run++) {
        const keeper = one(dice)
        keeper.add(1, 20, 1)
        for (let i = 0; i < adds; i++) keeper.add(2, weight, 1)
        sum += keeper.count(1)
      }
      return sum / 2000
    }
    const single = heldAfter(10, 1)
    expect(single).toBeGreaterThan(16)
    expect(single).toBeLessThan(18)
    expect(Math.abs(heldAfter(1, 10) - single)).toBeLessThan(0.1)
    expect(Math.abs(heldAfter(2, 5) - single)).toBeLessThan(0.1)
  })
})

test('what is scaled counts in the other unit', () => {
  const keeper = new HeavyKeeper({ width: 1, depth: 1 }, () => 0)
  keeper.add(1, 8, 1)
  keeper.scale(0.25)
  expect(keeper.count(1)).toBe(2)
  expect(keeper.add(1, 1, 1)).toBe(3)
  // In units of 16 these three are less than one call: they give way to the first.
  expect(keeper.add(2, 16, 16)).toBe(16)
})

test.each([
  [1.1, 64],
  [1.5, 64],
  [2, 16],
])('zipf %f over %i columns: no estimate is above the truth, and the frequent ones are near it', (exponent, width) => {
  const keeper = new HeavyKeeper({ width, depth: 4 }, seeded(1))
  const exact = new ExactCounts<number>()
  const next = zipf(exponent, 3000, 2)
  let excess = 0
  for (let i = 0; i < 30_000; i++) {
    const key = next()
    exact.add(key, 0)
    excess = Math.max(excess, keeper.add(hashOf(key), 1, 1) - exact.count(key, 0))
  }
  expect(excess).toBe(0)
  for (const { key, count } of exact.top(5, 0)) expect(keeper.count(hashOf(key)) / count).toBeGreaterThan(0.97)
})

test.each([
  [{ width: 0, depth: 1 }, 'width is 0, expected a whole number'],
  [{ width: 48, depth: 1 }, 'width is 48, expected a power of two'],
  [{ width: 64, depth: 0 }, 'depth is 0'],
  [{ width: 64, depth: 17 }, 'depth is 17'],
  [{ width: Number.NaN, depth: 1 }, 'width is NaN'],
])('a size of %o is refused', (size, message) => {
  expect(() => new HeavyKeeper(size, () => 0)).toThrow(message)
})
