import { type ConfigError, isConfigError, keyed, pipeline } from 'floodwall'
import { parseLayers } from 'floodwall/rules'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'

function faults(document: unknown): ConfigError['issues'] {
  try {
    parseLayers(document, 'shop')
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
  throw new Error('nothing was refused')
}

const paths = (document: unknown) => faults(document).map((issue) => issue.path)

describe('a good document', () => {
  test('becomes layers, outermost first', async () => {
    const document = [
      { kind: 'deadline', within: '800ms' },
      { kind: 'retry', attempts: 3, budget: { ratio: 0.1 } },
      { kind: 'breaker', failureRate: 0.5, over: '10s' },
      { kind: 'keyed', max: 10, of: { kind: 'rateLimit', rate: 100 } },
      { kind: 'shadow', of: { kind: 'keyed', of: { kind: 'bulkhead', slots: 2 } } },
      { kind: 'timeout', after: 250 },
    ]
    const text = JSON.stringify(document)
    const p = pipeline('shop', parseLayers(JSON.parse(text)), { runtime: new VirtualRuntime() })
    expect(await p.call(() => 1)).toBe(1)
    expect(
      p
        .explain()
        .split('\n')
        .map((row) => row.trim().split(' ')[1]),
    ).toEqual([undefined, 'deadline', 'retry', 'breaker', 'keyed', 'shadow', 'timeout'])
    expect(JSON.stringify(document)).toBe(text)
  })

  test('of no layers is one', () => {
    expect(parseLayers([])).toEqual([])
  })

  test('says the same as code does', () => {
    const [layer] = parseLayers([{ kind: 'breaker', openFor: '2s' }])
    expect(layer?.options).toMatchObject({ openFor: 2000 })
    expect(layer?.kind).toBe('breaker')
  })
})

describe('a bad document', () => {
  test.each([undefined, null, 0, 'x', true, {}, { layers: [] }, () => {}, new Map()])('%s is no list', (document) => {
    expect(faults(document)).toEqual([{ path: 'shop', value: expect.any(String), expected: 'a list of layers' }])
  })

  test.each([null, 5, 'breaker', [], ['breaker']])('an entry of %o is no layer', (entry) => {
    const [issue] = faults([entry])
    expect(issue).toMatchObject({
      path: 'shop[0]',
      expected: expect.stringContaining('an object with a kind: rateLimit, breaker'),
    })
  })

  test.each([undefined, null, 5, '', 'Breaker', 'brekaer', {}])(
    'a kind of %o is unknown, and the known ones are listed',
    (kind) => {
      expect(faults([{ kind }])).toEqual([
        {
          path: 'shop[0].kind',
          value: expect.any(String),
          expected: expect.stringContaining('one of rateLimit, breaker, bulkhead'),
        },
      ])
    },
  )

  test('lists every fault of every layer, with its place', () => {
    const document = [
      { kind: 'breaker', failureRate: 2, openFor: '-1s', colour: 'red' },
      { kind: 'timeout', after: '1s' },
      { kind: 'timeout' },
      { kind: 'unknown' },
      { kind: 'retry', backoff: { first: 'x' }, budget: { ratio: -1 } },
      { kind: 'shadow', of: { kind: 'keyed', of: { kind: 'rateLimit', rate: 'x' } } },
      { kind: 'keyed' },
    ]
    expect(paths(document)).toEqual([
      'shop[0].failureRate',
      'shop[0].openFor',
      'shop[0].colour',
      'shop[2].after',
      'shop[3].kind',
      'shop[4].backoff.first',
      'shop[4].budget.ratio',
      'shop[5].of.of.rate',
      'shop[6].of',
    ])
  })

  test.each([
    ['of nothing', null],
    ['of a number', 5],
    ['of a name', 'rateLimit'],
    ['of a list', [{ kind: 'rateLimit', rate: 1 }]],
  ])('a keyed %s', (_, of) => {
    expect(paths([{ kind: 'keyed', of }])).toEqual(['shop[0].of'])
  })

  test('layers within each other have a depth', () => {
    const nested = (depth: number): unknown =>
      depth === 0 ? { kind: 'bulkhead', slots: 1 } : { kind: 'shadow', of: nested(depth - 1) }
    expect(parseLayers([nested(3)])).toHaveLength(1)
    expect(faults([nested(4)])).toEqual([
      { path: 'shop[0].of.of.of.of', value: expect.any(String), expected: 'at most 4 layers within each other' },
    ])
    expect(paths([nested(5000)])).toEqual(['shop[0].of.of.of.of'])
  })

  test('a list has a length', () => {
    const many = (n: number) => Array.from({ length: n }, () => ({ kind: 'bulkhead', slots: 1 }))
    expect(parseLayers(many(100))).toHaveLength(100)
    expect(faults(many(101))).toEqual([{ path: 'shop', value: '101 layers', expected: 'at most 100' }])
    expect(faults(new Array(1_000_000))).toHaveLength(1)
  })

  test('a kind without `of` says that it has no such field', () => {
    expect(faults([{ kind: 'timeout', after: 1, of: { kind: 'bulkhead', slots: 1 } }])[0]).toMatchObject({
      path: 'shop[0].of',
      expected: 'no such field; known: after',
    })
  })

  test('the values in it are shown short, in one line, without credentials', () => {
    const [issue] = faults([{ kind: 'timeout', after: `http://me:secret@host/${'x'.repeat(500)}` }])
    expect(issue?.value.length).toBeLessThanOrEqual(81)
    expect(issue?.value).toContain('http://***@host')
    expect(issue?.value).not.toContain('secret')
  })

  test('nothing has been made, and the same document mended is good', () => {
    const document = [
      { kind: 'bulkhead', slots: 1 },
      { kind: 'timeout', after: 'x' },
    ]
    expect(paths(document)).toEqual(['shop[1].after'])
    ;(document[1] as { after: unknown }).after = 5
    expect(parseLayers(document)).toHaveLength(2)
  })
})

test('a gate per key is not a policy per key', () => {
  const [layer] = parseLayers([{ kind: 'keyed', of: { kind: 'bulkhead', slots: 1 } }])
  expect(layer?.kind).toBe(keyed.kind)
})
