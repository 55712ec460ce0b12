import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Place, WaitList } from '../../src/algorithms/queues/wait-list.ts'

class Waiter extends Place {
  readonly name: number

  constructor(name: number) {
    super()
    this.name = name
  }
}

/** The line from its two ends, as a list. */
function walk(line: WaitList<Waiter>): Waiter[] {
  const all: Waiter[] = []
  for (let at = line.oldest as Place | undefined; at !== undefined; at = at.behind ?? undefined) all.push(at as Waiter)
  const back: Waiter[] = []
  for (let at = line.newest as Place | undefined; at !== undefined; at = at.ahead ?? undefined)
    back.unshift(at as Waiter)
  expect(back).toEqual(all)
  return all
}

test('agrees with an array, step by step', () => {
  const step = fc.record({
    act: fc.constantFrom('push', 'push', 'unshift', 'rejoin', 'remove', 'oldest', 'newest'),
    which: fc.nat(50),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const line = new WaitList<Waiter>()
      const waiters = Array.from({ length: 51 }, (_, name) => new Waiter(name))
      let array: Waiter[] = []
      for (const { act, which } of steps) {
        const waiter = waiters[which] as Waiter
        const inLine = array.includes(waiter)
        if (act === 'remove') {
          expect(line.remove(waiter)).toBe(inLine)
          array = array.filter((other) => other !== waiter)
        } else if (act === 'oldest') expect(line.oldest).toBe(array[0])
        else if (act === 'newest') expect(line.newest).toBe(array.at(-1))
        else if (!inLine) {
          if (act === 'push') {
            line.push(waiter)
            array.push(waiter)
          } else if (act === 'unshift') {
            line.unshift(waiter)
            array.unshift(waiter)
          } else {
            line.unshift(waiter, (other) => other.name < waiter.name)
            const at = array.findIndex((other) => other.name >= waiter.name)
            array.splice(at < 0 ? array.length : at, 0, waiter)
          }
        }
        expect(line.size).toBe(array.length)
        expect(walk(line)).toEqual(array)
        expect(waiters.filter((w) => w.inLine).length).toBe(array.length)
      }
    }),
    { seed: 11, numRuns: 500 },
  )
})

test('who left is not in the line, and holds nobody', () => {
  const line = new WaitList<Waiter>()
  const [a, b, c] = [new Waiter(1), new Waiter(2), new Waiter(3)]
  for (const w of [a, b, c]) line.push(w)
  expect([line.remove(b), line.remove(b), line.size]).toEqual([true, false, 2])
  expect([b.ahead, b.behind, b.inLine]).toEqual([null, null, false])
  expect([line.remove(a), line.remove(c), line.oldest, line.newest]).toEqual([true, true, undefined, undefined])
})

test('100,000 join, and leave from anywhere', () => {
  const line = new WaitList<Waiter>()
  const waiters = Array.from({ length: 100_000 }, (_, i) => new Waiter(i))
  for (let round = 0; round < 3; round++) {
    for (const w of waiters) line.push(w)
    for (let i = 0; i < waiters.length; i++) line.remove(waiters[(i * 7919) % waiters.length] as Waiter)
    expect([line.size, line.oldest]).toEqual([0, undefined])
  }
})
