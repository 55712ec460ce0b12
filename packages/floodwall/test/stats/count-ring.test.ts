import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CountRing } from '../../src/algorithms/stats/count-ring.ts'
import { agree, SEEDED } from './event-log.ts'

const FAILED = 1
const SLOW = 2

describe('CountRing', () => {
  test('starts empty', () => {
    const ring = new CountRing(3, 2)
    expect([ring.calls, ring.total(0), ring.total(1), ring.size, ring.lanes]).toEqual([0, 0, 0, 3, 2])
  })

  test('the worked example: the fourth result pushes out the first', () => {
    const ring = new CountRing(3, 1)
    for (const mask of [FAILED, 0, FAILED]) ring.push(mask)
    expect([ring.calls, ring.total(0)]).toEqual([3, 2])
    ring.push(0)
    expect([ring.calls, ring.total(0)]).toEqual([3, 1])
  })

  test('one result may count in several lanes', () => {
    const ring = new CountRing(4, 2)
    ring.push(FAILED | SLOW)
    ring.push(SLOW)
    expect([ring.calls, ring.total(0), ring.total(1)]).toEqual([2, 1, 2])
  })

  test('size 1 remembers the last result only', () => {
    const ring = new CountRing(1, 2)
    const seen = [FAILED, FAILED, 0, SLOW].map((mask) => {
      ring.push(mask)
      return [ring.calls, ring.total(0), ring.total(1)]
    })
    expect(seen).toEqual([
      [1, 1, 0],
      [1, 1, 0],
      [1, 0, 0],
      [1, 0, 1],
    ])
  })

  test('all eight lanes count', () => {
    const ring = new CountRing(2, 8)
    ring.push(255)
    ring.push(128)
    expect([0, 1, 2, 3, 4, 5, 6, 7].map((lane) => ring.total(lane))).toEqual([1, 1, 1, 1, 1, 1, 1, 2])
  })

  test('bits above the last lane mean nothing, coming or going', () => {
    const ring = new CountRing(2, 2)
    for (const mask of [0xfff, 4, 256 + FAILED, NaN, -1, 0, 0]) ring.push(mask)
    expect([ring.calls, ring.total(0), ring.total(1)]).toEqual([2, 0, 0])
  })

  test('clear forgets everything, twice over, and half-way round', () => {
    const ring = new CountRing(5, 1)
    for (let i = 0; i < 7; i++) ring.push(FAILED)
    ring.clear()
    ring.clear()
    expect([ring.calls, ring.total(0)]).toEqual([0, 0])
    ring.push(0)
    expect([ring.calls, ring.total(0)]).toEqual([1, 0])
  })

  test('10,000 results', () => {
    const ring = new CountRing(100, 1)
    for (let i = 0; i < 10_000; i++) ring.push(i % 4 === 0 ? FAILED : 0)
    expect([ring.calls, ring.total(0)]).toEqual([100, 25])
  })

  test.each([
    [0, 1, 'size is 0, expected a whole number from 1 to 16777216'],
    [2.5, 1, 'size is 2.5,'],
    [NaN, 1, 'size is NaN,'],
    [10, 0, 'lanes is 0, expected a whole number from 1 to 8'],
    [10, 9, 'lanes is 9,'],
  ])('refuses size %d with %d lanes', (size, lanes, message) => {
    expect(() => new CountRing(size, lanes)).toThrow(RangeError)
    expect(() => new CountRing(size, lanes)).toThrow(message)
  })

  test('100,000 random results agree with the tail of a list', () => {
    let taken = 0
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.oneof({ weight: 30, arbitrary: fc.nat(255) }, { weight: 1, arbitrary: fc.constant(-1) }), {
          minLength: 40,
          maxLength: 80,
          size: 'max',
        }),
        (size, lanes, masks) => {
          const ring = new CountRing(size, lanes)
          let list: number[] = []
          for (const mask of masks) {
            taken++
            if (mask === -1) {
              ring.clear()
              list = []
            } else {
              ring.push(mask)
              list.push(mask)
            }
            const tail = list.slice(-size)
            agree(ring.calls, tail.length)
            for (let lane = 0; lane < lanes; lane++) {
              agree(ring.total(lane), tail.filter((each) => (each & (1 << lane)) !== 0).length)
            }
          }
        },
      ),
      SEEDED,
    )
    expect(taken).toBeGreaterThan(100_000)
  })
})
