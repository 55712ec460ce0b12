import fc from 'fast-check'
import { lru } from 'floodwall'
import { expect, test } from 'vitest'

test('the worked example: a, b, get a, c: b goes', () => {
  const evicted: [string, number][] = []
  const cache = lru<string, number>({ capacity: 2, onEvict: (key, record) => evicted.push([key, record]) })
  cache.add('a', 1)
  cache.add('b', 2)
  cache.get('a')
  cache.add('c', 3)
  expect([cache.keys(), evicted]).toEqual([['a', 'c'], [['b', 2]]])
})

test('contains counts as no use, and an add of one that is there as one', () => {
  const cache = lru<string, number>({ capacity: 3 })
  for (const key of ['a', 'b', 'c', 'a']) cache.add(key, 0)
  cache.contains('b')
  expect(cache.keys()).toEqual(['b', 'c', 'a'])
})

type Step = readonly [op: 'add' | 'addIfAbsent' | 'get' | 'remove' | 'contains' | 'purge', key: number, record: number]

/** The same as a list of pairs, searched from end to end. */
class NaiveLru {
  readonly evicted: number[] = []
  pairs: [key: number, record: number][] = []
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  do([op, key, record]: Step): unknown {
    const at = this.pairs.findIndex(([other]) => other === key)
    if (op === 'contains') return at >= 0
    if (op === 'purge') this.pairs = []
    if (op === 'purge') return undefined
    const known = at < 0 ? undefined : this.pairs.splice(at, 1)[0]
    if (op === 'remove') return known !== undefined
    if (op === 'add' || (op === 'addIfAbsent' && known === undefined)) {
      this.pairs.push([key, record])
      if (this.pairs.length > this.capacity) this.evicted.push(this.pairs.shift()![0])
    } else if (known !== undefined) this.pairs.push(known)
    return op === 'add' ? true : known?.[1]
  }
}

test('property: it is a list in the order of the last use', () => {
  const step: fc.Arbitrary<Step> = fc.tuple(
    fc.constantFrom('add', 'addIfAbsent', 'get', 'get', 'remove', 'contains', 'purge' as const),
    fc.integer({ min: 0, max: 9 }),
    fc.integer({ min: 0, max: 99 }),
  ) as fc.Arbitrary<Step>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 150 }), (capacity, steps) => {
      const evicted: number[] = []
      const cache = lru<number, number>({ capacity, onEvict: (key) => evicted.push(key) })
      const naive = new NaiveLru(capacity)
      for (const [op, key, record] of steps) {
        const answer =
          op === 'purge'
            ? cache.purge()
            : op === 'add' || op === 'addIfAbsent'
              ? cache[op](key, record)
              : cache[op](key)
        expect(answer).toEqual(naive.do([op, key, record]))
        expect([cache.keys(), cache.size, evicted]).toEqual([
          naive.pairs.map(([other]) => other),
          naive.pairs.length,
          naive.evicted,
        ])
      }
    }),
    { seed: 5, numRuns: 400 },
  )
})
