import { type Env, type Gate, KeyedRateLimit, type KeyedRateOptions, keyedRateLimit, shadow } from 'floodwall'
import { parseLayers } from 'floodwall/rules'
import { gateContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

const options: Readonly<Record<string, KeyedRateOptions>> = {
  'a rate': { rate: 10 },
  'below one a second': { rate: 0.2, burst: 3 },
  'one key': { rate: 10, max: 1 },
  'by what is no key': { rate: 10, by: () => undefined as unknown as string },
  'a reserve': { rate: 10, reserve: { criticalPlus: 0.3, sheddablePlus: 0.2 } },
  'costs that are no whole numbers': { rate: 10, cost: () => 0.5 },
  learned: { rate: 100, cost: 'learned' },
  'the whole': { rate: 5, oversell: { rate: 20 } },
  'the whole, less than one key may have': { rate: 50, oversell: { rate: 20 } },
  'learned, of a whole': { rate: 100, cost: 'learned', oversell: { rate: 150 } },
}

const build = (layer: ReturnType<typeof keyedRateLimit>) => (env: Env) => layer.build(env) as Gate

describe.each(Object.entries(options))('%s keeps the promises of a gate', (_, of) => {
  for (const check of gateContract((env) => new KeyedRateLimit(of, env))) test(check.name, check.run)
  for (const check of gateContract(build(shadow({ of: keyedRateLimit(of) }))))
    test(`in shadow: ${check.name}`, check.run)
})

describe('options', () => {
  test.each([
    [
      { rate: 1, overrides: { 'a*': { rate: -1 } } },
      'keyedRateLimit.overrides.a*.rate: expected a number of 0 or more',
    ],
    [{ rate: 1, overrides: { a: { pace: 1 } } }, 'keyedRateLimit.overrides.a.pace'],
    [
      { rate: 1, overrides: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`${i}*`, { rate: 1 }])) },
      'at most 64 patterns',
    ],
    [{ rate: 1, overrides: { ['x'.repeat(1025)]: { rate: 1 } } }, 'names of at most 1024 characters'],
    [{ rate: 1, oversell: {} }, 'keyedRateLimit.oversell: expected a rate above 0'],
    [{ rate: 1, oversell: { rate: 0 } }, 'keyedRateLimit.oversell: expected a rate above 0'],
    [{ rate: 1, reserve: { critical: 0.7, criticalPlus: 0.4 } }, 'shares that add up to at most 1'],
    [{ rate: 1, max: 16_000_001 }, 'at most 16000000 keys'],
    [{ rate: 1, cost: 'time' }, '"calls", "learned", or a function'],
  ])('%j', (given, words) => {
    expect(() => keyedRateLimit(given as unknown as KeyedRateOptions)).toThrow(words)
  })

  test('a document can say all of it but the functions', () => {
    const [layer] = parseLayers([
      {
        kind: 'keyedRateLimit',
        rate: 100,
        per: '1m',
        max: 1_000_000,
        overrides: { 'partner:*': { rate: 1000, per: '1m' } },
        reserve: { critical: 0.2 },
        cost: 'learned',
        oversell: { rate: 5000 },
      },
    ])
    const gate = layer?.build(new VirtualRuntime().env('api/keyedRateLimit')) as Gate
    expect(gate.inspect(0)).toMatchObject({ kind: 'keyedRateLimit', max: 1_000_000, whole: { perSecond: 5000 } })
  })
})
