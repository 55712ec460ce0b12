import fc from 'fast-check'
import { hotParameter } from 'floodwall'
import { networkOf, parameterOf } from 'floodwall/server'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { SpaceSaving } from '../../src/algorithms/sketches/space-saving.ts'
import { copyOf } from '../../src/algorithms/sketches/text-copy.ts'
import { TopK } from '../../src/algorithms/sketches/top-k.ts'
import type { Gate } from '../../src/core/gate.ts'
import { ask } from '../support/asks.ts'
import { keptMB } from './memory.ts'

const REQUESTS = 2000
/** As long as Node lets a head be, nearly: 2000 of them are 30 MB. */
const PADDING = 'x'.repeat(15_000)

const targetOf = (i: number) => `/shop?item=some-item-${100_000 + i}&padding=${PADDING}`
const itemOf = (i: number) => parameterOf('query:item', targetOf(i), []) as string
const numbers = Array.from({ length: REQUESTS }, (_, i) => i)

test('property: a copy is equal, whatever is in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
      expect(copyOf(text)).toBe(text)
    }),
    { seed: 31, numRuns: 300 },
  )
  for (const text of ['', ' ', '\ud800', `${'a'.repeat(20)}\udc00`]) expect(copyOf(text)).toBe(text)
})

describe('of a long text nothing is kept but the part', () => {
  test('the measure sees it: parts that nobody copied keep their texts', () => {
    expect(keptMB(() => numbers.map(itemOf))).toBeGreaterThan(20)
  })

  const made: [string, () => object][] = [
    ['copies', () => numbers.map((i) => copyOf(itemOf(i)))],
    [
      'a limit per value',
      () => {
        const gate = hotParameter({ parameter: 'query:item', rate: 1 }).build(
          new VirtualRuntime().env('shop/hot'),
        ) as Gate
        for (const i of numbers) {
          const init = { parameters: (name: string) => parameterOf(name, targetOf(i), []) }
          gate.tryAcquire(ask(0, { init } as never))
        }
        return gate
      },
    ],
    [
      'limits of values that have one of their own',
      () => {
        const overrides = Object.fromEntries(numbers.map((i) => [itemOf(i), 5]))
        const gate = hotParameter({ parameter: 0, rate: 1, overrides }).build(
          new VirtualRuntime().env('shop/hot'),
        ) as Gate
        for (const i of numbers) gate.tryAcquire(ask(0, { init: { parameters: [itemOf(i)] } } as never))
        return { gate, count: Object.keys(overrides).length }
      },
    ],
    [
      'the most frequent',
      () => {
        const top = new TopK<string>({ k: REQUESTS, halfLifeMs: 10_000 }, seeded(5))
        for (const i of numbers) top.add(itemOf(i), 0)
        return top
      },
    ],
    [
      'Space-Saving',
      () => {
        const saving = new SpaceSaving<string>(REQUESTS / 2)
        for (const i of numbers) saving.add(itemOf(i))
        return saving
      },
    ],
    [
      'networks of addresses from a list',
      () => {
        const list = (i: number) => `${PADDING}, 192.168.${100 + (i >> 8)}.${100 + (i & 127)}`
        return numbers.map((i) => networkOf(list(i).slice(PADDING.length + 2), { v4Prefix: 32, v6Prefix: 64 }))
      },
    ],
  ]
  test.each(made)('%s', (_, make) => expect(keptMB(make)).toBeLessThan(5))
})
