import type { KeyedRateOptions } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { KeyLimit } from '../../src/algorithms/keys/key-limit.ts'
import { Shares } from '../../src/algorithms/keys/shares.ts'
import { Keys } from '../support/keyed-rates.ts'

// Whoever invents names of one kind takes no seats from those of another.

/** How many of `count` names get one call each, `everyMs` apart. */
function strangers(keys: Keys, prefix: string, count: number, everyMs = 0, calls = 1): number {
  let passed = 0
  for (let i = 0; i < count; i++) {
    if (keys.take(`${prefix}${i}`, calls) > 0) passed++
    keys.world.advance(everyMs)
  }
  return passed
}

const LONG = { rate: 10, per: '1h' } as const

describe('names that may owe for long', () => {
  test.each<[string, KeyedRateOptions, string]>([
    ['one group', { rate: 10, max: 1000, overrides: { 'free:*': LONG } }, 'free:'],
    ['frozen ones', { rate: 10, max: 1000, overrides: { 'trial:*': { rate: 0, burst: 5 } } }, 'trial:'],
    ['the common ones, beside a pattern', { ...LONG, max: 1000, overrides: { 'user:*': { rate: 10 } } }, ''],
  ])('nobody of a short limit is locked out: %s', (_, options, prefix) => {
    const keys = new Keys(options)
    strangers(keys, prefix, 1000, 0, 2)
    expect(keys.shown.keys).toBe(500)
    expect(strangers(keys, 'user:', 500)).toBe(500)
    // Also others than these, and in any number, as long as they come no faster than the seats of their kind pay.
    for (let round = 0; round < 5; round++) {
      strangers(keys, `${prefix}again-${round}-`, 300, 0, 2)
      keys.world.advance('1s')
      expect(strangers(keys, `user:${round}-`, 500)).toBeGreaterThan(485)
    }
    expect(keys.shown.keys).toBe(1000)
  })

  test('within their part of the seats it is no amnesty, and those in it are not more than a limit lets them be', () => {
    const keys = new Keys({ rate: 10, max: 20, overrides: { 'free:*': LONG } })
    let passed = 0
    for (let i = 0; i < 5000; i++) passed += keys.take(`free:${i % 200}`, 3)
    // Ten seats.
    expect(passed).toBe(100)
    expect(keys.shown.keys).toBe(10)
  })

  test('those of single keys keep as many seats from the others as they need, and of the longest all are one kind', () => {
    const keys = new Keys({ ...LONG, max: 100, overrides: { partner: { rate: 100 }, other: { rate: 100, burst: 10 } } })
    strangers(keys, '', 300, 0, 2)
    expect(keys.shown.keys).toBe(98)
    expect([keys.take('partner', 200), keys.take('other', 200), keys.shown.keys]).toEqual([100, 10, 100])
  })

  test('limits that let owe alike have all seats in common', () => {
    const keys = new Keys({ rate: 10, max: 100, overrides: { 'big:*': { rate: 700 }, 'none:*': { rate: 0 } } })
    strangers(keys, 'big:', 100)
    expect(keys.shown.keys).toBe(100)
    const others = new Keys({ rate: 7, max: 100, overrides: { 'big:*': { rate: 700 }, 'none:*': { rate: 0 } } })
    strangers(others, 'none:', 300)
    strangers(others, '', 100)
    expect(others.shown).toMatchObject({ keys: 100, shared: 0 })
  })

  test('C36 a reload counts the seats anew', () => {
    const keys = new Keys({ rate: 10, max: 100 })
    strangers(keys, 'free:', 100, 0, 10)
    keys.reload({ rate: 10, max: 100, overrides: { 'free:*': LONG } })
    // A hundred who owe for minutes now: until they have paid, others share what one of them may have.
    expect([strangers(keys, 'free:new-', 20), strangers(keys, 'user:', 20)]).toEqual([0, 10])
    expect(keys.shown.shared).toBe(20)
    keys.world.advance('2h')
    expect([strangers(keys, 'free:new-', 100), strangers(keys, 'user:', 60)]).toEqual([100, 60])
    keys.reload({ rate: 10, max: 100 })
    expect(strangers(keys, 'free:last-', 40)).toBe(40)
  })

  test.each([
    [[1000, 2000, 4000], 100, [100, 50, 25]],
    [[1000], 100, [100]],
    [[5, 5, 5], 7, [7]],
    [[1, 2], 1, [1, 1]],
  ])('limits of %j in %d seats: at most %j', (spans, max, rooms) => {
    const limits = spans.map((span) => new KeyLimit({ rate: 1, per: span }, 1))
    const shares = new Shares(limits, max, ({ aheadMs }) => aheadMs)
    for (const [which, room] of rooms.entries()) {
      const own = new Shares(limits, max, ({ aheadMs }) => aheadMs)
      for (let i = 0; which > 0 && i < room; i++) {
        expect(own.fullFrom(which)).toBe(0)
        own.count(which, 1)
      }
      expect(own.fullFrom(which)).toBe(which)
      if (which > 0) own.count(which, -1)
      expect(own.fullFrom(which)).toBe(0)
    }
    expect(shares.fullFrom(0)).toBe(0)
  })
})
