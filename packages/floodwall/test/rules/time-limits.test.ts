import { type ConfigIssue, isConfigError } from 'floodwall'
import { builtIn, type LayerLimits, parseLayers } from 'floodwall/rules'
import { describe, expect, test } from 'vitest'

// A document may be anybody's: a timeout of an hour in it is a typing error, unless somebody says that it is not.

function refusals(document: unknown, limits?: LayerLimits): ConfigIssue[] {
  try {
    parseLayers(document, 'shop', builtIn, limits)
  } catch (error) {
    if (isConfigError(error)) return [...error.issues]
    throw error
  }
  return []
}

const long = [
  { kind: 'deadline', within: '1h', floor: '5ms' },
  { kind: 'retry', pauseAtMost: '2h' },
  { kind: 'queue', atMost: '2h' },
  { kind: 'timeout', after: '61s' },
]

const EXPECTED = [
  { path: 'shop[0].within', value: '60m', expected: 'at most 60s (the limit mostTimeout)' },
  { path: 'shop[3].after', value: '61s', expected: 'at most 60s (the limit mostTimeout)' },
]

describe('timeouts above the limit', () => {
  test('are refused, beside every other fault', () => {
    expect(refusals(long)).toEqual(EXPECTED)
    expect(refusals([...long, { kind: 'bulkhead' }]).map((issue) => issue.path)).toEqual([
      'shop[0].within',
      'shop[3].after',
      'shop[4].slots',
    ])
  })

  test('are cut where that is wanted, each with a warning', () => {
    const warnings: ConfigIssue[] = []
    const limits: LayerLimits = { onExcess: 'cap', warn: (issue) => warnings.push(issue) }
    const layers = parseLayers(long, 'shop', builtIn, limits)
    expect(layers.map(({ options }) => options)).toMatchObject([
      { within: 60_000, floor: 5 },
      { pauseAtMost: 7_200_000 },
      { atMost: 7_200_000 },
      { after: 60_000 },
    ])
    expect(warnings).toEqual(EXPECTED)
    expect(parseLayers(long, 'shop', builtIn, { onExcess: 'cap' })).toHaveLength(4)
  })

  test('are not told of when the document is refused for something else', () => {
    const warnings: ConfigIssue[] = []
    const limits: LayerLimits = { onExcess: 'cap', warn: (issue) => warnings.push(issue) }
    expect(refusals([...long, { kind: 'bulkhead' }], limits).map((issue) => issue.path)).toEqual(['shop[4].slots'])
    expect(warnings).toEqual([])
  })

  test('depend on the limit', () => {
    expect(refusals(long, { mostTimeout: '1h' })).toEqual([])
    expect(refusals([{ kind: 'timeout', after: 101 }], { mostTimeout: 100 })).toEqual([
      { path: 'shop[0].after', value: '101ms', expected: 'at most 100ms (the limit mostTimeout)' },
    ])
  })

  test.each<[LayerLimits, string]>([
    [{ mostTimeout: 0 }, 'limits.mostTimeout'],
    [{ onExcess: 'warn' as never }, 'limits.onExcess'],
    [{ most: 5 } as never, 'limits.most'],
  ])('%j is no limit', (limits, path) => {
    expect(refusals([], limits).map((issue) => issue.path)).toEqual([path])
  })
})
