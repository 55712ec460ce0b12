import { ConfigError, isConfigError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { fromSentinel, type SentinelNote } from '../../../src/compat/sentinel/index.ts'
import { EXAMPLE } from './example.ts'

const go = {
  resource: 'abc',
  strategy: 1,
  retryTimeoutMs: 5000,
  minRequestAmount: 10,
  statIntervalMs: 10_000,
  threshold: 0.1,
}
const java = {
  resource: 'abc',
  grade: 1,
  count: 0.1,
  timeWindow: 5,
  minRequestAmount: 10,
  statIntervalMs: 10_000,
}
const COMMON = {
  ...{ over: 10_000, buckets: 10, atLeast: 10, openFor: 5000 },
  ...{ probes: 1, probeFailureRate: 1, probeLapse: 10_000 },
}

/** The settings of the breakers of a resource. */
const settings = (rules: unknown, resource = 'abc') =>
  (fromSentinel(rules).layers.get(resource) ?? []).map(({ kind, options }) => {
    expect(kind).toBe('breaker')
    return options
  })

const notes = (rules: unknown) =>
  fromSentinel(rules).notes.map(({ path, value, kind }: SentinelNote) => [path, value, kind])

function faults(rules: unknown): ConfigError['issues'] {
  try {
    fromSentinel(rules)
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
  throw new Error('nothing was refused')
}

describe('the example of the documents', () => {
  test('loads unchanged: three breakers of one resource, in the order of the rules, and nothing to note', () => {
    const { notes, rules, layers } = fromSentinel(EXAMPLE)
    expect(notes).toEqual([])
    expect([...layers.keys()]).toEqual(['abc'])
    expect(settings(EXAMPLE)).toMatchObject([
      { slowRate: 0.1, slowAfter: 20, ...COMMON },
      { failureRate: 0.1, ...COMMON },
      { errorCount: 100, ...COMMON },
    ])
    expect(rules.map(({ at, place }) => [at, place])).toEqual([
      ['[0]', 'breaker'],
      ['[1]', 'breaker-2'],
      ['[2]', 'breaker-3'],
    ])
  })

  test('is the same as data and as text', () => {
    expect(settings(JSON.parse(EXAMPLE))).toEqual(settings(EXAMPLE))
  })
})

describe('Go', () => {
  test.each<[string, object, object]>([
    ['a ratio of errors', go, { failureRate: 0.1, ...COMMON }],
    ['a ratio of slow calls', { ...go, strategy: 0, maxAllowedRtMs: 20 }, { slowRate: 0.1, slowAfter: 20, ...COMMON }],
    ['a number of errors', { ...go, strategy: 2, threshold: 100 }, { errorCount: 100, ...COMMON }],
    [
      'slow calls of a minute, whose probes are waited for',
      { ...go, strategy: 0, maxAllowedRtMs: 60_000 },
      { ...COMMON, slowAfter: 60_000, probeLapse: 120_000 },
    ],
    ['a strategy by its name', { ...go, strategy: 'ErrorCount', threshold: 3 }, { errorCount: 3, ...COMMON }],
    ['buckets', { ...go, statSlidingWindowBucketCount: 5 }, { ...COMMON, buckets: 5 }],
    ['buckets of 0', { ...go, statSlidingWindowBucketCount: 0 }, COMMON],
    ['probes', { ...go, probeNum: 4 }, { ...COMMON, probes: 4, probeFailureRate: 0.25 }],
    ['one probe', { ...go, probeNum: 1 }, COMMON],
    ['the longest retry timeout', { ...go, retryTimeoutMs: 4_294_967_295 }, { ...COMMON, openFor: 4_294_967_295 }],
    ['null, which says nothing', { ...go, maxAllowedRtMs: null, probeNum: null }, COMMON],
  ])('%s', (_, rule, expected) => {
    expect(settings([rule])).toMatchObject([expected])
    expect(notes([rule])).toEqual([])
  })

  test('every rule of a resource is a breaker, resources are told apart, ids lead to their breakers', () => {
    const rules = [{ ...go, id: 'a' }, { ...go, id: 7, resource: '__proto__' }, { ...go, id: 'a', threshold: 0.2 }, go]
    const { layers, rules: places } = fromSentinel(rules)
    expect([...layers].map(([name, of]) => [name, of.length])).toEqual([
      ['abc', 3],
      ['__proto__', 1],
    ])
    expect(places).toEqual([
      { at: '[0]', id: 'a', resource: 'abc', place: 'breaker' },
      { at: '[1]', id: 7, resource: '__proto__', place: 'breaker' },
      { at: '[2]', id: 'a', resource: 'abc', place: 'breaker-2' },
      { at: '[3]', id: undefined, resource: 'abc', place: 'breaker-3' },
    ])
  })
})

describe('Java', () => {
  test.each<[string, object, object]>([
    ['a ratio of exceptions', java, { failureRate: 0.1, ...COMMON }],
    [
      'the response time',
      { ...java, grade: 0, count: 20, slowRatioThreshold: 0.1 },
      { slowRate: 0.1, slowAfter: 20, ...COMMON },
    ],
    ['the response time of all calls', { ...java, grade: 0, count: 20 }, { slowRate: 1, slowAfter: 20, ...COMMON }],
    ['a number of exceptions', { ...java, grade: 2, count: 100 }, { errorCount: 100, ...COMMON }],
    ['seconds', { ...java, timeWindow: 120 }, { ...COMMON, openFor: 120_000 }],
    ['all callers', { ...java, limitApp: 'default', slowRatioThreshold: 1, regex: false }, COMMON],
  ])('%s', (_, rule, expected) => {
    expect(settings([rule])).toMatchObject([expected])
    expect(notes([rule])).toEqual([])
  })

  test('has defaults of its own', () => {
    const rule = { resource: 'abc', grade: 1, count: 0.5, timeWindow: 5 }
    expect(settings([rule])).toMatchObject([{ atLeast: 5, over: 1000 }])
    expect(notes([rule])).toEqual([
      ['[0].minRequestAmount', 'undefined', 'default'],
      ['[0].statIntervalMs', 'undefined', 'default'],
    ])
  })

  test('what a dashboard adds, and what has no meaning here, is noted by name', () => {
    const rules = [java, java, { ...java, id: 3, app: 'shop', limitApp: 'web', regex: true, gmtCreate: 1, cut: null }]
    expect(notes(rules)).toEqual([
      ['[2].limitApp', '"web"', 'ignored'],
      ['[2].regex', 'true', 'ignored'],
      ['[2].app', '"shop"', 'ignored'],
      ['[2].gmtCreate', '1', 'ignored'],
    ])
    expect(fromSentinel(rules).notes[2]?.why).toBe(
      'no such field here; known: id, resource, limitApp, minRequestAmount, statIntervalMs, grade, count, timeWindow, slowRatioThreshold',
    )
  })
})

describe('what is missing is noted, and the template stands in', () => {
  test.each<[string, string, object]>([
    ['retryTimeoutMs', 'undefined', { openFor: 10_000 }],
    ['minRequestAmount', 'undefined', { atLeast: 10 }],
    ['statIntervalMs', 'undefined', { over: 10_000 }],
  ])('%s', (field, value, expected) => {
    const { [field as keyof typeof go]: _, ...rest } = go
    expect(settings([rest])).toMatchObject([{ ...COMMON, ...expected }])
    expect(notes([rest])).toEqual([[`[0].${field}`, value, 'default']])
  })

  test('a rule without a resource is left out, and that is noted', () => {
    const { resource: _, ...rest } = go
    expect(fromSentinel([rest, { ...go, resource: '' }]).layers.size).toBe(0)
    expect(notes([rest, { ...go, resource: '' }])).toEqual([
      ['[0].resource', 'undefined', 'ignored'],
      ['[1].resource', '""', 'ignored'],
    ])
  })

  test('an empty rule', () => {
    expect(notes([{ resource: 'abc' }])).toEqual([
      ['[0].strategy', 'undefined', 'default'],
      ['[0].threshold', 'undefined', 'default'],
      ['[0].statIntervalMs', 'undefined', 'default'],
      ['[0].retryTimeoutMs', 'undefined', 'default'],
      ['[0].minRequestAmount', 'undefined', 'default'],
      ['[0].maxAllowedRtMs', 'undefined', 'changed'],
      ['[0].threshold', 'undefined', 'changed'],
    ])
    expect(settings([{ resource: 'abc' }])).toMatchObject([{ slowRate: 1e-9, slowAfter: 1, over: 10_000 }])
  })

  test('no rules are no layers', () => {
    expect(fromSentinel('[]')).toEqual({ layers: new Map(), rules: [], notes: [] })
  })
})

describe('what makes no sense is noted, with what is done instead', () => {
  const count = { ...go, strategy: 2 }
  const slow = { ...go, strategy: 0, maxAllowedRtMs: 20 }
  test.each<[string, object, object, readonly string[]]>([
    ['a ratio of 0', { ...go, threshold: 0 }, { failureRate: 1e-9 }, ['threshold', '0', 'changed']],
    ['a slow ratio of 0', { ...slow, threshold: 0 }, { slowRate: 1e-9 }, ['threshold', '0', 'changed']],
    ['half an error', { ...count, threshold: 0.5 }, { errorCount: 1 }, ['threshold', '0.5', 'changed']],
    ['no error', { ...count, threshold: 0 }, { errorCount: 1 }, ['threshold', '0', 'changed']],
    ['2.9 errors', { ...count, threshold: 2.9 }, { errorCount: 2 }, ['threshold', '2.9', 'changed']],
    ['no slow limit', { ...slow, maxAllowedRtMs: 0 }, { slowAfter: 1 }, ['maxAllowedRtMs', '0', 'changed']],
    ['a slow limit for errors', { ...go, maxAllowedRtMs: 20 }, {}, ['maxAllowedRtMs', '20', 'ignored']],
    ['no silent period', { ...go, minRequestAmount: 0 }, { atLeast: 1 }, ['minRequestAmount', '0', 'changed']],
    ['no interval', { ...go, statIntervalMs: 0 }, { over: 10_000 }, ['statIntervalMs', '0', 'default']],
    ['no retry timeout', { ...go, retryTimeoutMs: 0 }, { openFor: 10_000 }, ['retryTimeoutMs', '0', 'default']],
    [
      'one bucket',
      { ...go, statSlidingWindowBucketCount: 1 },
      { buckets: 10 },
      ['statSlidingWindowBucketCount', '1', 'changed'],
    ],
    [
      'buckets that do not divide',
      { ...go, statSlidingWindowBucketCount: 3 },
      { buckets: 3 },
      ['statSlidingWindowBucketCount', '3', 'changed'],
    ],
    [
      'several probes for slow calls',
      { ...slow, threshold: 0.5, probeNum: 4 },
      { probes: 4, slowRate: 0.5 },
      ['probeNum', '4', 'changed'],
    ],
    [
      'too many buckets',
      { ...go, statSlidingWindowBucketCount: 5000 },
      { buckets: 100 },
      ['statSlidingWindowBucketCount', '5000', 'changed'],
    ],
  ])('%s', (_, rule, expected, [field, ...rest]) => {
    expect(settings([rule])).toMatchObject([expected])
    expect(notes([rule])).toEqual([[`[0].${field}`, ...rest]])
  })

  test.each<[string, object, string]>([
    ['a share of 0', { ...java, count: 0 }, '[0].count'],
    ['a slow share of 0', { ...java, grade: 0, count: 20, slowRatioThreshold: 0 }, '[0].slowRatioThreshold'],
    ['no slow limit', { ...java, grade: 0, count: 0, slowRatioThreshold: 1 }, '[0].count'],
    ['no time', { ...java, timeWindow: 0 }, '[0].timeWindow'],
  ])('by the words of Java: %s', (_, rule, path) => {
    expect(notes([rule]).map(([at]) => at)).toEqual([path])
  })

  test('a rule that mixes both tongues speaks Go: the rest is noted', () => {
    expect(notes([{ ...go, grade: 2, timeWindow: 3 }])).toEqual([
      ['[0].grade', '2', 'ignored'],
      ['[0].timeWindow', '3', 'ignored'],
    ])
  })
})

describe('C35 a document with a fault makes nothing', () => {
  test.each<[unknown, string]>([
    ['', 'JSON (Unexpected end of JSON input)'],
    ['[{]', 'JSON ('],
    ['{}', 'a list of rules'],
    ['null', 'a list of rules'],
    ['"[]"', 'a list of rules'],
    [undefined, 'a list of rules'],
    [5, 'a list of rules'],
    [new Map(), 'a list of rules'],
    [Array(10_001).fill(go), 'at most 10000'],
    [' '.repeat(16_000_001), 'at most 16000000'],
    [`${'['.repeat(100_000)}`, 'JSON ('],
    [`\uFEFF${EXAMPLE}`, 'JSON ('],
  ])('%.20o is no list of rules', (rules, expected) => {
    const issues = faults(rules)
    expect(issues).toMatchObject([{ path: 'rules', expected: expect.stringContaining(expected) }])
    expect(issues[0]?.value.length).toBeLessThan(90)
  })

  test.each([null, 5, 'abc', [], true])('%o is no rule', (rule) => {
    expect(faults([go, rule])).toMatchObject([{ path: '[1]', expected: 'a rule' }])
  })

  test.each<[string, object, string, string]>([
    ['resource', { ...go, resource: 5 }, '5', 'a text'],
    ['resource', { ...go, resource: 'x'.repeat(1025) }, `"${'x'.repeat(79)}…`, 'at most 1024 characters'],
    ['id', { ...go, id: {} }, '{}', 'a text or a number'],
    ['strategy', { ...go, strategy: 3 }, '3', '0, 1 or 2 (SlowRequestRatio, ErrorRatio, ErrorCount)'],
    ['strategy', { ...go, strategy: '1' }, '"1"', '0, 1 or 2 (SlowRequestRatio, ErrorRatio, ErrorCount)'],
    ['retryTimeoutMs', { ...go, retryTimeoutMs: '5s' }, '"5s"', 'whole milliseconds from 0 to 4294967295'],
    ['retryTimeoutMs', { ...go, retryTimeoutMs: -1 }, '-1', 'whole milliseconds from 0 to 4294967295'],
    ['statIntervalMs', { ...go, statIntervalMs: 0.5 }, '0.5', 'whole milliseconds from 0 to 4294967295'],
    ['minRequestAmount', { ...go, minRequestAmount: Number.NaN }, 'NaN', 'a whole number from 0'],
    ['threshold', { ...go, threshold: 50 }, '50', 'a share from 0 to 1 (0.5 is 50 %)'],
    ['threshold', { ...go, threshold: -0.1 }, '-0.1', 'a share from 0 to 1 (0.5 is 50 %)'],
    ['threshold', { ...go, strategy: 2, threshold: 1e10 }, '10000000000', 'a number of errors from 0 to 1000000000'],
    ['maxAllowedRtMs', { ...go, strategy: 0, maxAllowedRtMs: '20' }, '"20"', 'a number of 0 or more'],
    ['probeNum', { ...go, probeNum: 1.5 }, '1.5', 'a whole number from 0'],
    ['grade', { ...java, grade: 4 }, '4', '0, 1 or 2 (RT, exception ratio, exception count)'],
    ['count', { ...java, count: 1.5 }, '1.5', 'a share from 0 to 1 (0.5 is 50 %)'],
    ['timeWindow', { ...java, timeWindow: 2.5 }, '2.5', 'whole seconds from 0 to 2147483647'],
    ['limitApp', { ...java, limitApp: 5 }, '5', 'a text'],
  ])('%s of %o', (field, rule, value, expected) => {
    expect(faults([go, rule])).toEqual([{ path: `[1].${field}`, value, expected }])
  })

  test.each([Number.NaN, '0.5', -1, 1.0001, 50, Number.POSITIVE_INFINITY, true, []])(
    'a threshold of %o',
    (threshold) => {
      expect(faults([{ ...go, threshold }]).map(({ path }) => path)).toEqual(['[0].threshold'])
    },
  )

  test('a rule that is 100,000 lists deep', () => {
    expect(faults(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toEqual([
      { path: '[0]', value: 'an object', expected: 'a rule' },
    ])
  })

  test('every fault is listed', () => {
    const issues = faults([{ ...go, strategy: 9, probeNum: -1 }, 5, { ...java, grade: 'RT', count: 'x' }])
    expect(issues.map(({ path }) => path)).toEqual(['[0].strategy', '[0].probeNum', '[1]', '[2].grade', '[2].count'])
  })

  test('a resource has at most 100 rules', () => {
    expect(settings(Array(100).fill(go))).toHaveLength(100)
    expect(faults(Array(101).fill(go))).toEqual([
      { path: '[100].resource', value: '"abc"', expected: 'at most 100 rules for one resource' },
    ])
  })

  test('nothing leaks into the prototypes', () => {
    const text = '[{"resource":"abc","__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}]'
    expect(notes(text).map(([path]) => path)).toEqual(expect.arrayContaining(['[0].__proto__', '[0].constructor']))
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})
