import { type ConfigError, isConfigError, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { fromSentinelFlow, fromSentinelHotspot, type SentinelLayers } from '../../../src/compat/sentinel/index.ts'
import { controllerCases, entryCases } from './vectors.ts'

type Import = (rules: unknown) => SentinelLayers

/** Kinds and what is not a default, of the layers of `abc`. */
const made = (load: Import, rule: object) =>
  (load([{ resource: 'abc', ...rule }]).layers.get('abc') ?? []).map(({ kind, options }) => [kind, options])
const notes = (load: Import, rule: object) =>
  load([{ resource: 'abc', ...rule }]).notes.map(({ path, kind, why }) => `${path.replace('[0].', '')} ${kind}: ${why}`)

function faults(load: Import, rules: unknown): ConfigError['issues'] {
  try {
    load(rules)
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
  throw new Error('nothing was refused')
}

const hot = fromSentinelHotspot
const flow = fromSentinelFlow

describe('hotspot rules', () => {
  test.each([
    [
      'the worked example',
      { metricType: 1, threshold: 10, burstCount: 5, durationInSec: 2, paramIndex: 1 },
      { parameter: 1, rate: 10, per: 2000, burst: 15, max: 8000 },
    ],
    [
      'threads',
      { metricType: 0, threshold: 3, paramIndex: -1, paramsMaxCapacity: 7 },
      { parameter: -1, slots: 3, max: 7 },
    ],
    [
      'throttling',
      { metricType: 1, controlBehavior: 1, threshold: 10, durationInSec: 1, maxQueueingTimeMs: 500 },
      { parameter: 0, rate: 10, per: 1000, maxWait: 500, max: 4000 },
    ],
    ['a key', { metricType: 1, threshold: 1, durationInSec: 1, paramKey: 'user' }, { parameter: 'user', rate: 1 }],
    [
      'items, with the burst of the rule, and typed',
      {
        metricType: 1,
        threshold: 2,
        burstCount: 1,
        durationInSec: 1,
        specificItems: [
          { valKind: 0, valStr: '42', threshold: 1 },
          { valKind: 1, valStr: '42', threshold: 5 },
          { valKind: 2, valStr: 'true', threshold: 0 },
          { valKind: 3, valStr: '1.5', threshold: 3 },
        ],
      },
      {
        overrides: [
          [42, { rate: 1, burst: 2 }],
          ['42', { rate: 5, burst: 6 }],
          [true, { rate: 0, burst: 0 }],
          [1.5, { rate: 3, burst: 4 }],
        ],
      },
    ],
    [
      'Java, a rate',
      {
        grade: 1,
        count: 2.5,
        paramIdx: 1,
        durationInSec: 1,
        burstCount: 0,
        paramFlowItemList: [
          { object: '7', classType: 'int', count: 9 },
          { object: 'vip', classType: 'java.lang.String', count: 5 },
        ],
      },
      {
        parameter: 1,
        rate: 2.5,
        per: 1000,
        burst: 2.5,
        overrides: [
          [7, { rate: 9 }],
          ['vip', { rate: 5 }],
        ],
      },
    ],
    [
      'Java, a rate limiter',
      { count: 5, controlBehavior: 2, maxQueueingTimeMs: 300, paramIdx: 0 },
      { rate: 5, maxWait: 300 },
    ],
    ['Java, threads', { grade: 0, count: 2, paramIdx: 0, limitApp: 'default', clusterMode: false }, { slots: 2 }],
  ])('%s', (_, rule, options) => {
    expect(made(hot, rule)).toEqual([['hotParameter', expect.objectContaining({})]])
    expect(made(hot, rule)[0]?.[1]).toMatchObject(options)
  })

  test.each([
    [
      { metricType: 1, durationInSec: 1 },
      ['threshold default: nothing was said: 0, which refuses every call with the parameter'],
    ],
    [{ metricType: 1, threshold: 1 }, ['durationInSec default: nothing was said: 1 s']],
    [{ metricType: 1, threshold: 1, durationInSec: 0 }, ['durationInSec default: 0 is no time: 1 s']],
    [{ threshold: 0 }, ['threshold changed: nobody passes; in Sentinel the first call of each value does']],
    [{ threshold: 1.5 }, ['threshold changed: 1: calls are whole']],
    [
      { threshold: 1, controlBehavior: 1, burstCount: 2 },
      [
        'controlBehavior ignored: calls at once do not wait, there neither',
        'burstCount ignored: only rates look at it',
      ],
    ],
    [
      { metricType: 1, threshold: 1, durationInSec: 1, controlBehavior: 1, burstCount: 2 },
      [
        'burstCount ignored: throttling does not look at it, there neither',
        'maxQueueingTimeMs changed: nobody may wait: one by one, and who comes too early is refused',
      ],
    ],
    [
      { metricType: 1, threshold: 1, durationInSec: 1, paramKey: 'user' },
      [
        'paramKey changed: a field of the data of a call; a call without it is not limited, and not by its first argument',
      ],
    ],
    [
      { count: 1, durationInSec: 1, limitApp: 'web', clusterMode: true, clusterConfig: {}, controlBehavior: 1 },
      [
        'controlBehavior changed: 0: parameters have no warm-up, there neither',
        'limitApp ignored: callers are not told apart',
        'clusterMode ignored: counted in this process alone',
      ],
    ],
    [
      { threshold: 1, colour: 'red' },
      [expect.stringContaining('colour ignored: no such field here; known: id, resource')],
    ],
    [
      { resource: '', threshold: 1 },
      ['resource ignored: a rule without a resource is about nothing: it is left out, as in Sentinel'],
    ],
  ])('what is not honoured as it stands is told (%#)', (rule, told) => expect(notes(hot, rule)).toEqual(told))

  test.each([
    [{ paramKey: 'a.b', threshold: 1 }, 'paramKey', 'a name without "." and ":"'],
    [
      { paramKey: 'user', paramIndex: 1, threshold: 1 },
      'paramIndex',
      'none beside a paramKey: Sentinel leaves such a rule out',
    ],
    [{ metricType: 2, threshold: 1 }, 'metricType', '0 (Concurrency) or 1 (QPS)'],
    [{ threshold: -1 }, 'threshold', 'a number of 0 or more'],
    [
      { threshold: 1, specificItems: [{ valKind: 0, valStr: 'x' }] },
      'specificItems',
      'texts that are values of their kind',
    ],
    [
      { count: 1, paramFlowItemList: [{ object: 'x', classType: 'int' }] },
      'paramFlowItemList',
      'objects that are values of their type',
    ],
  ])('a fault makes nothing, and is named (%#)', (rule, field, expected) => {
    const good = { resource: 'abc', threshold: 1 }
    expect(faults(hot, [good, { resource: 'abc', ...rule }])).toMatchObject([{ path: `[1].${field}`, expected }])
  })

  test('several rules of a resource are several layers, and JSON is read', () => {
    const rules = [{ id: 'a' }, { id: 'b', metricType: 1, durationInSec: 1 }].map((rule) => ({
      resource: 'abc',
      threshold: 1,
      ...rule,
    }))
    const { layers, rules: places } = hot(JSON.stringify(rules))
    expect(layers.get('abc')).toHaveLength(2)
    expect(places.map(({ id, place }) => [id, place])).toEqual([
      ['a', 'hotParameter'],
      ['b', 'hotParameter-2'],
    ])
  })

  test('every rule of the recordings loads, but for the one that Sentinel leaves out', () => {
    const all = [
      ...controllerCases.map(({ rule }) => rule),
      ...entryCases.flatMap(({ steps }) => steps.flatMap(({ rules = [] }) => rules)),
    ] as { readonly id: string }[]
    const valid = all.filter(({ id }) => id !== 'bad')
    expect(hot(valid).rules).toHaveLength(valid.length)
    expect(all.length - valid.length).toBe(1)
  })

  test('what was loaded limits', async () => {
    const { layers } = hot([{ resource: 'abc', metricType: 1, threshold: 2, durationInSec: 1, paramIndex: 1 }])
    const p = pipeline('abc', layers.get('abc') ?? [], { runtime: new VirtualRuntime() })
    const passed = []
    for (const item of ['x', 'x', 'x', 'y']) passed.push((await p.outcome(() => 1, { parameters: ['ann', item] })).ok)
    expect(passed).toEqual([true, true, false, true])
  })
})

describe('flow rules', () => {
  test.each([
    ['Reject', { threshold: 2.5, statIntervalInMs: 500 }, [['rateLimit', { rate: 2.5, per: 500 }]]],
    [
      'the worked example',
      { threshold: 10, controlBehavior: 1, maxQueueingTimeMs: 500 },
      [['pace', { rate: 10, per: 1000, atMost: 500 }]],
    ],
    [
      'Throttling that waits for nothing',
      { threshold: 10, controlBehavior: 1 },
      [['rateLimit', { rate: 10, burst: 1 }]],
    ],
    [
      'WarmUp',
      { threshold: 10, tokenCalculateStrategy: 1, warmUpPeriodSec: 20, warmUpColdFactor: 5 },
      [['rateLimit', { rate: 10, algorithm: 'warmUp', warmUp: { over: 20_000, coldFactor: 5 } }]],
    ],
    [
      'WarmUp and Throttling',
      { threshold: 10, tokenCalculateStrategy: 1, warmUpPeriodSec: 20, controlBehavior: 1, maxQueueingTimeMs: 100 },
      [
        ['rateLimit', { algorithm: 'warmUp', warmUp: { over: 20_000, coldFactor: 3 } }],
        ['pace', { rate: 10, atMost: 100 }],
      ],
    ],
    ['Java, threads', { grade: 0, count: 7 }, [['bulkhead', { slots: 7 }]]],
    [
      'Java, QPS',
      { grade: 1, count: 7, controlBehavior: 0, strategy: 0, clusterMode: false },
      [['rateLimit', { rate: 7, per: 1000 }]],
    ],
    [
      'Java, a rate limiter',
      { grade: 1, count: 7, controlBehavior: 2, maxQueueingTimeMs: 50 },
      [['pace', { rate: 7, atMost: 50 }]],
    ],
    [
      'Java, warm-up',
      { grade: 1, count: 7, controlBehavior: 1, warmUpPeriodSec: 5 },
      [['rateLimit', { warmUp: { over: 5000, coldFactor: 3 } }]],
    ],
    [
      'MemoryAdaptive',
      { tokenCalculateStrategy: 2, lowMemUsageThreshold: 9, highMemUsageThreshold: 1 },
      [['rateLimit', { rate: 9 }]],
    ],
    ['about another resource', { threshold: 1, relationStrategy: 1, refResource: 'other' }, []],
    ['Java, about another resource', { count: 1, strategy: 2, refResource: 'other' }, []],
  ])('%s', (_, rule, layers) => expect(made(flow, rule)).toMatchObject(layers))

  test.each([
    [{ controlBehavior: 0 }, ['threshold default: nothing was said: 0, which refuses every call']],
    [
      { threshold: 1, relationStrategy: 1 },
      ['relationStrategy ignored: a layer does not see the calls of another resource: the rule is left out'],
    ],
    [{ threshold: 1, regex: true }, ['regex ignored: the resource is taken as a name, not as a pattern']],
    [{ grade: 0, count: 1.5 }, ['count changed: 1: calls are whole']],
    [
      { count: 1, controlBehavior: 3 },
      ['controlBehavior changed: two layers: what is too much while it is cold is refused, and does not wait'],
    ],
    [
      { tokenCalculateStrategy: 2, lowMemUsageThreshold: 9 },
      ['tokenCalculateStrategy changed: lowMemUsageThreshold, whatever the memory: see overload()'],
    ],
  ])('what is not honoured as it stands is told (%#)', (rule, told) => expect(notes(flow, rule)).toEqual(told))

  test.each([
    [{ threshold: 1, warmUpColdFactor: 1 }, 'warmUpColdFactor', '0, or a whole number above 1'],
    [{ threshold: 'x' }, 'threshold', 'a number of 0 or more'],
    [{ threshold: 1, controlBehavior: 3 }, 'controlBehavior', '0 (Reject) or 1 (Throttling)'],
  ])('a fault makes nothing, and is named (%#)', (rule, field, expected) =>
    expect(faults(flow, [{ resource: 'abc', ...rule }])).toMatchObject([{ path: `[0].${field}`, expected }]),
  )

  test.each([
    [5, 'rules'],
    ['{', 'rules'],
    [[5], '[0]'],
    [Array.from({ length: 101 }, () => ({ resource: 'abc', threshold: 1 })), '[100].resource'],
  ])('what is no list of rules is refused (%#)', (rules, path) => expect(faults(flow, rules)).toMatchObject([{ path }]))
})
