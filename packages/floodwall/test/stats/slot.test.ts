import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slotAt } from '../../src/algorithms/stats/slot.ts'
import { agree, beside, DAY_30, SEEDED } from './event-log.ts'

describe('slotAt', () => {
  test.each([
    [0, 1000, 0],
    [999.999, 1000, 0],
    [1000, 1000, 1],
    [10_000, 1000, 10],
    [DAY_30, 86_400_000, 30],
    [1e15, 1, 1e15],
    [0.3, 0.1, 2], // 3 * 0.1 is above 0.3
    [3 * 0.1, 0.1, 3],
    [-1, 1000, -1],
  ])('%d ms in buckets of %d ms: bucket %d', (now, width, slot) => {
    expect(slotAt(now, width)).toBe(slot)
  })

  test('what is no time is in no bucket', () => {
    expect(slotAt(NaN, 1000)).toBeNaN()
    expect(slotAt(Infinity, 1000)).toBe(Infinity)
  })

  test('an instant lies between the edges of its bucket, on an edge and right beside it', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.double({ min: 0.001, max: 1e7, noNaN: true }), fc.constantFrom(0.1, 1 / 3, 1000, 33.3, 1000 / 3)),
        fc.nat(1_000_000_000),
        (width, bucket) => {
          for (const nudge of [-1, 0, 1] as const) {
            const now = beside(bucket * width, nudge)
            const slot = slotAt(now, width)
            agree(slot * width <= now, true)
            agree(now < (slot + 1) * width, true)
            if (nudge >= 0) agree(slot, bucket)
          }
        },
      ),
      SEEDED,
    )
  })
})
