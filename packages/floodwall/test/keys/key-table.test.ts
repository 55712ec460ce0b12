import fc from 'fast-check'
import { seeded } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { KeyHash, LONGEST_KEY } from '../../src/algorithms/keys/hash.ts'
import { type Key, KeyTable, NOBODY } from '../../src/algorithms/keys/key-table.ts'
import { keptMB } from '../sketches/memory.ts'

function tableOf(seed = 1): KeyTable {
  const random = seeded(seed)
  return new KeyTable(new KeyHash([random(), random(), random(), random()]))
}

const seat = (table: KeyTable, key: Key): number => table.find(key) || table.add(key)

describe('a table of keys', () => {
  test('gives each key a slot of its own, and the same again', () => {
    const table = tableOf()
    expect(['a', 'b', 'a', 'c', 'b'].map((key) => seat(table, key))).toEqual([1, 2, 1, 3, 2])
    expect([table.size, table.high]).toEqual([3, 3])
  })

  test('keys are equal as in a Map: 1 and "1" are two, NaN is one, 0 and -0 are one, "" is a key', () => {
    const table = tableOf()
    const keys: Key[] = [1, '1', Number.NaN, 'NaN', 0, '0', '', 0.5, '0.5', 2 ** 40, Number.POSITIVE_INFINITY]
    const slots = keys.map((key) => seat(table, key))
    expect(new Set(slots).size).toBe(keys.length)
    expect(keys.map((key) => table.find(key))).toEqual(slots)
    expect(table.find(-0)).toBe(slots[4])
  })

  test('what is no text and no number is nobody, and so is a text that is too long', () => {
    const table = tableOf()
    for (const key of [undefined, null, true, {}, [], Symbol('key'), 5n, 'x'.repeat(LONGEST_KEY + 1)])
      expect(table.find(key)).toBe(NOBODY)
    expect(seat(table, 'x'.repeat(LONGEST_KEY))).toBe(1)
  })

  test('a slot that is free again goes to the next key', () => {
    const table = tableOf()
    for (const key of ['a', 'b', 'c']) seat(table, key)
    table.remove(2)
    expect([table.find('b'), table.find('c'), table.size]).toEqual([0, 3, 2])
    expect([seat(table, 'd'), seat(table, 'e'), table.high]).toEqual([2, 4, 4])
  })

  test.each([
    ['texts', 'ann', 'ben'],
    ['numbers', 7, 8],
    ['a number and a text', 1, '1'],
  ])('who came several times in a row is found as any other, and not any more when he has left: %s', (_, ann, ben) => {
    const table = tableOf()
    const slots = [ann, ann, ann, ann, ben, ann, ann, ben, ben, ben].map((key) => seat(table, key))
    expect(slots).toEqual([1, 1, 1, 1, 2, 1, 1, 2, 2, 2])
    table.remove(2)
    expect([table.find(ben), table.find(ann)]).toEqual([0, 1])
    for (let i = 0; i < 3; i++) seat(table, ann)
    table.remove(1)
    expect([table.find(ann), seat(table, ben), table.find(ann), table.find(undefined)]).toEqual([0, 1, 0, NOBODY])
  })

  test('keeps no text that a key was cut out of', () => {
    const heads = 3000
    const table = tableOf()
    const kept = keptMB(() => {
      for (let i = 0; i < heads; i++) {
        const head = Buffer.from(`GET /items/account-${i}-of-somebody HTTP/1.1 ${'x'.repeat(15_000)}`).toString(
          'latin1',
        )
        seat(table, head.slice(4, head.indexOf(' HTTP')))
      }
      return table
    })
    expect(kept).toBeLessThan(5)
    for (const i of [0, 1, heads - 1]) expect(table.keyOf(i + 1)).toBe(`/items/account-${i}-of-somebody`)
    for (const odd of ['\ud800'.repeat(20), 'ä'.repeat(20), '日本'.repeat(500)]) {
      const slot = seat(table, odd)
      expect([table.find(odd), table.keyOf(slot)]).toEqual([slot, odd])
    }
  })

  test('as a Map, whatever is added and removed, also while it grows', () => {
    const step = fc.tuple(
      fc.boolean(),
      fc.oneof(
        fc.nat(400),
        fc.nat(400).map(String),
        fc.nat(60).map((n) => n / 8),
      ),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 500, size: 'max' }), fc.nat(1000), (steps, seed) => {
        const table = tableOf(seed)
        const map = new Map<Key, number>()
        for (const [add, key] of steps) {
          const slot = table.find(key)
          if (slot !== (map.get(key) ?? 0)) throw new Error(`${key} has slot ${slot}, not ${map.get(key)}`)
          if (add && slot === 0) map.set(key, table.add(key))
          if (!add && slot !== 0) {
            table.remove(slot)
            map.delete(key)
          }
        }
        expect(table.size).toBe(map.size)
        expect([...map].filter(([key, slot]) => table.find(key) !== slot || table.keyOf(slot) !== key)).toEqual([])
        expect(new Set(map.values()).size).toBe(map.size)
      }),
      { seed: 91, numRuns: 80 },
    )
  })

  test('half of 100,000 keys leave in the order in which they came, and the others stay where they are', () => {
    const table = tableOf(3)
    for (let i = 0; i < 100_000; i++) seat(table, i % 2 === 0 ? i : `user-${i}`)
    for (let i = 0; i < 100_000; i += 2) table.remove(table.find(i))
    expect(table.size).toBe(50_000)
    let astray = 0
    for (let i = 1; i < 100_000; i += 2) if (table.find(`user-${i}`) !== i + 1) astray++
    expect(astray).toBe(0)
    for (let i = 0; i < 100_000; i += 2000) expect(table.find(i)).toBe(0)
  })
})
