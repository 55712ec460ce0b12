import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Tickets } from '../../src/algorithms/keys/tickets.ts'

interface Taken {
  slot: number
  readonly cost: number
  readonly at: number
}

/** What a step does with the one of those that are out that `which` falls on. */
const step = fc.record({
  does: fc.constantFrom('take', 'take', 'close', 'renumber', 'unshare'),
  which: fc.nat(1000),
  slot: fc.integer({ min: -0xffff, max: 1000 }),
  cost: fc.double({ min: 0, noNaN: true }),
  at: fc.double({ noNaN: true }),
})

describe('what calls have taken that are still out', () => {
  test('is told as it was, whoever ends first, and when slots have other numbers', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (life) => {
        const tickets = new Tickets()
        const out = new Map<number, Taken>()
        let most = 0
        for (const { does, which, slot, cost, at } of life) {
          if (does === 'take') {
            const tag = tickets.tag(slot, cost, at, false)
            if (out.has(tag)) throw new Error(`${tag} is given twice`)
            out.set(tag, { slot, cost, at })
            most = Math.max(most, out.size)
          }
          if (does === 'close' && out.size > 0) {
            const tag = [...out.keys()][which % out.size] as number
            tickets.close(tag)
            out.delete(tag)
          }
          if (does === 'renumber') {
            tickets.renumber(Int32Array.from({ length: 1001 }, (_, from) => 1000 - from))
            for (const taken of out.values()) if (taken.slot > 0) taken.slot = 1000 - taken.slot
          }
          if (does === 'unshare') {
            tickets.unshare()
            for (const taken of out.values()) taken.slot = Math.max(0, taken.slot)
          }
        }
        for (const [tag, taken] of out)
          expect({ slot: tickets.slotOf(tag), cost: tickets.costOf(tag), at: tickets.timeOf(tag) }).toEqual(taken)
        // No more places than were out at once.
        expect(Math.max(0, ...out.keys())).toBeLessThanOrEqual(most)
      }),
      { seed: 92, numRuns: 200 },
    )
  })

  test('who never ends his calls fills the places and no more, and those that must be kept find one all the same', () => {
    const tickets = new Tickets()
    let last = 0
    for (let tag = tickets.tag(1, 1, 0, false); tag !== 0; tag = tickets.tag(1, 1, 0, false)) last = tag
    expect(last).toBe(262_143)
    const kept = tickets.tag(7, 2, 3, true)
    expect([tickets.slotOf(kept), tickets.costOf(kept), tickets.timeOf(kept)]).toEqual([7, 2, 3])
    tickets.close(0)
    expect(tickets.tag(1, 1, 0, false)).toBe(0)
    tickets.close(5)
    expect([tickets.tag(1, 1, 0, false), tickets.tag(1, 1, 0, false)]).toEqual([5, 0])
  })
})
