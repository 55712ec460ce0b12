import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Agenda } from '../../src/testing/agenda.ts'

// The naive agenda is a list that is sorted anew: by time, and at one time by the order of adding.

type Act = number | 'take'

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.nat(20) }, { weight: 2, arbitrary: fc.constant('take' as const) }),
  { maxLength: 400, size: 'max' },
)

test('what is taken is the earliest, and of equals the first', () => {
  let taken = 0
  fc.assert(
    fc.property(acts, (list) => {
      const agenda = new Agenda()
      const naive: { at: number; serial: number }[] = []
      const order: number[] = []
      list.forEach((act, serial) => {
        if (act !== 'take') {
          // Thirds: times that are no integers.
          agenda.add(act / 3, { happen: () => void order.push(serial) })
          naive.push({ at: act / 3, serial })
          return
        }
        expect(agenda.empty).toBe(naive.length === 0)
        if (agenda.empty) return
        naive.sort((a, b) => a.at - b.at || a.serial - b.serial)
        const first = naive.shift()
        expect(agenda.nextAt).toBe(first?.at)
        agenda.take().happen()
        expect(order.at(-1)).toBe(first?.serial)
        taken++
      })
    }),
    { seed: 8, numRuns: 300 },
  )
  expect(taken).toBeGreaterThan(1000)
})

test('it grows, and keeps its order', () => {
  const agenda = new Agenda()
  const order: number[] = []
  for (let i = 0; i < 1000; i++) agenda.add((i * 7919) % 1000, { happen: () => void order.push((i * 7919) % 1000) })
  while (!agenda.empty) agenda.take().happen()
  expect(order).toEqual(Array.from({ length: 1000 }, (_, i) => i))
})
