import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { cohortOf } from '../../src/algorithms/admission/priority.ts'
import { KeyHash, LONGEST_KEY } from '../../src/algorithms/keys/hash.ts'

function hashOf(seed: number): KeyHash {
  const random = seeded(seed)
  return new KeyHash([random(), random(), random(), random()])
}

/** The most keys that share one of `places`. */
function crowd(hashes: readonly number[], places: number): number {
  const counts = new Uint32Array(places)
  for (const hash of hashes) counts[hash & (places - 1)]!++
  return Math.max(...counts)
}

describe('the hash of a key', () => {
  test('is the same for keys that a Map takes for one, and another for 1 and "1"', () => {
    const hash = hashOf(1)
    expect(hash.ofNumber(-0)).toBe(hash.ofNumber(0))
    expect(hash.ofNumber(Number.NaN)).toBe(hash.ofNumber(Number.NaN - 1))
    expect(hash.ofText('ann')).toBe(hash.ofText(['a', 'nn'].join('')))
    expect(hash.ofText('1')).not.toBe(hash.ofNumber(1))
  })

  test('is another one in each process', () => {
    const hashes = Array.from({ length: 1000 }, (_, seed) => hashOf(seed).ofText('ann'))
    expect(new Set(hashes).size).toBeGreaterThan(995)
  })

  test('tells apart what differs only in zeros, in length, or far behind', () => {
    const hash = hashOf(2)
    const long = 'x'.repeat(LONGEST_KEY - 1)
    const keys = ['', '\0', '\0\0', 'a', 'a\0', 'ab', 'ba', `${long}a`, `${long}b`, `a${long}`]
    expect(new Set(keys.map((key) => hash.ofText(key))).size).toBe(keys.length)
  })

  test.each([1, 2, 3])('tells apart texts whose last character and the one %d before differ by as much', (apart) => {
    const between = 'x'.repeat(apart - 1)
    const of = (first: number, last: number) =>
      `ab${String.fromCharCode(64 + first)}${between}${String.fromCharCode(64 + last)}`
    const ways = [(i: number) => of(i, 39 - i), (i: number) => of(i, i)]
    // Were one word of the second sum used for both, only the first sum would tell them apart: some would meet under one seed of 1000.
    let met = 0
    for (let seed = 1; seed <= 6000; seed++) {
      const hash = hashOf(seed)
      for (const way of ways) met += 40 - new Set(Array.from({ length: 40 }, (_, i) => hash.ofText(way(i)))).size
    }
    expect(met).toBe(0)
  })

  test('words that come later change nothing of what was hashed before', () => {
    const hash = hashOf(3)
    const before = hash.ofText('ann')
    hash.ofText('x'.repeat(LONGEST_KEY))
    expect(hash.ofText('ann')).toBe(before)
  })

  test.each([
    ['consecutive numbers', (i: number) => i],
    ['multiples of 2^16', (i: number) => i * 65_536],
    ['fractions', (i: number) => i / 1024],
    ['consecutive texts', (i: number) => `user-${i}`],
    [
      'texts with one character at many places',
      (i: number) => `${'a'.repeat(i % 1000)}b${'a'.repeat(999 - (i % 1000))}${i}`,
    ],
  ])('%s are spread like at random', (_, keyOf) => {
    const hash = hashOf(4)
    const hashes = Array.from({ length: 4096 }, (__, i) => {
      const key = keyOf(i)
      return typeof key === 'string' ? hash.ofText(key) : hash.ofNumber(key)
    })
    // Of 4096 balls in as many boxes the fullest has 6 or 7; one with 13 is one in a thousand million.
    expect(crowd(hashes, 4096)).toBeLessThan(13)
    expect(new Set(hashes).size).toBeGreaterThan(4094)
  })

  test('20,000 keys that FNV-1a, stirred as by Murmur, puts into one place of 16 are spread here', () => {
    const hash = hashOf(5)
    const hostile: string[] = []
    for (let i = 0; hostile.length < 20_000; i++) {
      const key = `k${i}`
      if ((cohortOf(key, 0) & 15) === 0) hostile.push(key)
    }
    const hashes = hostile.map((key) => hash.ofText(key))
    // 1250 each, and the standard deviation of one is 34.
    expect(crowd(hashes, 16)).toBeLessThan(1250 + 6 * 34)
  })

  test('pairs collide once in 2^32, and those of one seed under no other', () => {
    const other = hashOf(0)
    let pairs = 0
    for (let seed = 1; seed <= 10; seed++) {
      const hash = hashOf(seed)
      const random = seeded(seed + 100)
      const seen = new Map<number, string>()
      for (let i = 0; i < 60_000; i++) {
        const key = `user-${random()}`
        const at = hash.ofText(key)
        const before = seen.get(at)
        seen.set(at, key)
        if (before === undefined) continue
        pairs++
        expect(other.ofText(before)).not.toBe(other.ofText(key))
      }
    }
    // 10 · 60,000² / 2 / 2^32 = 4.2 pairs.
    expect(pairs).toBeGreaterThan(0)
    expect(pairs).toBeLessThan(15)
  })
})
