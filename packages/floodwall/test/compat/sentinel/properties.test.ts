import fc from 'fast-check'
import { ConfigError, isConfigError, type Permit } from 'floodwall'
import { gateContract, VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { sentinelSnapshot } from '../../../src/compat/sentinel/gate.ts'
import { fromSentinel, SentinelGate, type SentinelRule } from '../../../src/compat/sentinel/index.ts'
import { parse } from '../../../src/core/schema.ts'
import { ask } from '../../support/asks.ts'
import { EXAMPLE } from './example.ts'

const FIELDS = [
  ...['resource', 'id', 'strategy', 'retryTimeoutMs', 'minRequestAmount', 'statIntervalMs'],
  ...['statSlidingWindowBucketCount', 'maxAllowedRtMs', 'threshold', 'probeNum'],
  ...['grade', 'count', 'timeWindow', 'slowRatioThreshold', 'limitApp', 'regex', '__proto__', 'toString'],
]

/** A value that may stand in a field: often a fit one. */
const value = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom<unknown>(0, 1, 2, 1, 0.5, 'abc', 'ErrorCount', null) },
  { weight: 1, arbitrary: fc.oneof(fc.double(), fc.integer(), fc.jsonValue()) },
)
const rule = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...FIELDS), value, { noNullPrototype: true, maxKeys: 5 }),
    fc.constantFrom({}, { resource: 'abc' }, { resource: 'b', strategy: 1 }, { resource: '', grade: 2, count: 1 }),
  )
  .map(([strange, fit]) => ({ ...strange, ...fit }))
const documents: fc.Arbitrary<unknown> = fc.oneof(
  fc.array(rule, { maxLength: 8 }),
  fc.array(fc.oneof(rule, fc.jsonValue()), { maxLength: 4 }),
  fc.jsonValue(),
  fc.anything(),
)

/** The import, or the error that it may throw. */
function imported(document: unknown): ReturnType<typeof fromSentinel> | ConfigError {
  try {
    return fromSentinel(document)
  } catch (error) {
    if (isConfigError(error)) return error
    throw error
  }
}

describe('the import', () => {
  test('throws nothing but a ConfigError, and what it gives is whole', () => {
    let made = 0
    let refused = 0
    fc.assert(
      fc.property(documents, (document) => {
        const result = imported(document)
        if (result instanceof ConfigError) {
          refused++
          expect(result.issues.length).toBeGreaterThan(0)
          return
        }
        made++
        const { layers, rules, notes } = result
        // Every rule of a resource has its breaker, and each of them can be built.
        const list = document as { resource?: unknown }[]
        expect(rules).toHaveLength(
          list.filter(({ resource }) => typeof resource === 'string' && resource !== '').length,
        )
        const all = [...layers.values()].flat()
        expect(all).toHaveLength(rules.length)
        for (const layer of all) layer.build(new VirtualRuntime().env())
        // What was not said, and what was, is either honoured or noted at its place.
        for (const { path, why } of notes)
          expect([path, why]).toEqual([expect.stringMatching(/^\[\d+\](\.\w+$|\["[^]*["…]\]$)/), expect.any(String)])
      }),
      { seed: 1, numRuns: 20_000 },
    )
    expect(Math.min(made, refused)).toBeGreaterThan(1000)
  })

  test('a text says the same as its data', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 4 }), (document) => {
        const text = JSON.stringify(document)
        const shape = (result: ReturnType<typeof imported>) =>
          result instanceof ConfigError ? result.issues : [[...result.layers.keys()], result.rules, result.notes]
        expect(shape(imported(text))).toEqual(shape(imported(JSON.parse(text))))
      }),
      { seed: 2, numRuns: 2000 },
    )
  })

  test('no text that is cut short or changed is taken for a good one by accident of an exception', () => {
    fc.assert(
      fc.property(fc.nat(EXAMPLE.length), fc.string(), (at, junk) => {
        imported(EXAMPLE.slice(0, at) + junk + EXAMPLE.slice(at))
        expect(isConfigError(imported(EXAMPLE.slice(0, Math.min(at, EXAMPLE.length - 1))))).toBe(true)
      }),
      { seed: 3, numRuns: 2000 },
    )
  })
})

const RULES = fc.array(
  fc
    .record({
      resource: fc.constant('abc'),
      strategy: fc.constantFrom(0, 1, 2),
      retryTimeoutMs: fc.integer({ min: 1, max: 500 }),
      minRequestAmount: fc.integer({ min: 0, max: 5 }),
      statIntervalMs: fc.constantFrom(100, 1000),
      statSlidingWindowBucketCount: fc.constantFrom(0, 1, 2, 10),
      maxAllowedRtMs: fc.constantFrom(0, 20),
      threshold: fc.constantFrom(0.3, 0.5, 1),
      probeNum: fc.integer({ min: 0, max: 3 }),
    })
    // Less than one error opens without any: it would be open whenever one looks.
    .map((rule) => (rule.strategy === 2 ? { ...rule, threshold: 1 + rule.probeNum } : rule)),
  { minLength: 1, maxLength: 3 },
)

type Act = { act: 'enter' | 'settle' | 'cancel' | 'pass' | 'load'; at: number; failed: boolean }
const ACTS: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    act: fc.constantFrom<Act['act']>('enter', 'enter', 'enter', 'settle', 'settle', 'cancel', 'pass', 'load'),
    at: fc.nat(200),
    failed: fc.boolean(),
  }),
  { maxLength: 120 },
)

describe('the replica', () => {
  test('conserves: each call that passed ends once, and is counted once in the window that it ends in', () => {
    fc.assert(
      fc.property(RULES, fc.option(RULES), ACTS, (rules, others, acts) => {
        const world = new VirtualRuntime({ startAt: 1_000_000 })
        const gate = new SentinelGate('abc', world.env('abc'))
        gate.loadRules(rules as SentinelRule[])
        const out: { permit: Permit; since: number }[] = []
        let windows = gate.breakers.map(({ window }) => window)
        for (const { act, at, failed } of acts) {
          const now = world.now()
          const before = windows.map((window) => (window.read(now), window.total))
          if (act === 'pass') world.advance(at)
          else if (act === 'load' && others !== null) gate.loadRules(others as SentinelRule[])
          else if (act === 'enter') {
            const answer = gate.tryAcquire(ask(now))
            if (answer.ok) out.push({ permit: answer, since: now })
            else expect(answer.why).not.toBe('')
          } else if (act !== 'load' && out.length > 0) {
            const [{ permit, since } = out[0]!] = out.splice(at % out.length, 1)
            if (act === 'cancel') permit.cancel(now)
            else {
              permit.settle(failed ? 'failure' : 'success', now - since, now)
              windows.forEach((window, i) => {
                // One more, or none at all: a breaker that has closed begins with an empty window.
                expect([before[i]! + 1, 0]).toContain(window.total)
              })
            }
            if (act === 'cancel') expect(windows.map((window) => window.total)).toEqual(before)
          }
          windows = gate.breakers.map(({ window }) => window)
          parse(sentinelSnapshot, gate.inspect(world.now()), 'inspect()')
          for (const { window } of gate.breakers) expect(window.bad).toBeLessThanOrEqual(window.total)
        }
        // When all have ended well, and time has passed, it admits again: by its own probes.
        for (let round = 0; round < 8; round++) {
          for (const { permit } of out.splice(0)) permit.settle('success', 0, world.now())
          world.advance(10_000)
          const answer = gate.tryAcquire(ask(world.now()))
          expect(answer.ok).toBe(true)
          if (answer.ok) answer.settle('success', 0, world.now())
        }
        expect(gate.breakers.every(({ state }) => state === 'closed')).toBe(true)
      }),
      { seed: 4, numRuns: 3000 },
    )
  })

  test.each<[string, SentinelRule]>([
    ['one probe', { resource: 'abc', strategy: 1, retryTimeoutMs: 500, statIntervalMs: 1000, threshold: 0.5 }],
    ['many', { resource: 'abc', strategy: 0, retryTimeoutMs: 1, statIntervalMs: 100, threshold: 0.5, probeNum: 3 }],
  ])('keeps the promises of a gate: %s', (_, of) => {
    const make = gateContract((env) => {
      const gate = new SentinelGate('abc', env)
      gate.loadRules([of])
      return gate
    })
    for (const check of make) check.run()
  })

  test('tells of what it is, refuses with numbers, and takes back what was refused elsewhere', () => {
    const world = new VirtualRuntime({ startAt: 1_000_000 })
    const gate = new SentinelGate('abc', world.env('abc'))
    expect(gate.tryAcquire(ask(world.now())).ok).toBe(true)
    gate.loadRules([
      { resource: 'abc', id: 'r', strategy: 1, retryTimeoutMs: 5000, statIntervalMs: 1000, threshold: 0.5 },
    ])
    const first = gate.tryAcquire(ask(world.now()))
    if (first.ok) first.settle('overload', 1, world.now())
    const refused = gate.tryAcquire(ask(world.now() + 0.9))
    expect(refused).toMatchObject({ ok: false, reason: 'open', retryAfterMs: 5000, value: 1, limit: 0.5 })
    expect(refused.ok ? '' : refused.why).toBe('open: errors: 1, threshold 0.5 (ErrorRatio)')
    world.advance(5000)
    const probe = gate.tryAcquire(ask(world.now()))
    expect(gate.tryAcquire(ask(world.now()))).toMatchObject({ reason: 'probing', retryAfterMs: 0 })
    if (probe.ok) probe.cancel(world.now())
    expect(world.events.map((event) => (event.type === 'state' ? `${event.path} ${event.to}` : event.type))).toEqual([
      'abc/r open',
      'abc/r halfOpen',
      'abc/r open',
    ])
  })

  test('names what is no rule, and loads nothing then', () => {
    const gate = new SentinelGate('abc')
    const bad = [
      { resource: 'abc', strategy: 3 },
      { resource: 5, treshold: 1 },
    ] as unknown as SentinelRule[]
    expect(() => gate.loadRules(bad)).toThrow(ConfigError)
    expect(() => gate.loadRules(bad)).toThrow('rules[0].strategy')
    expect(() => gate.loadRules(bad)).toThrow('rules[1].treshold')
    expect(gate.breakers).toEqual([])
  })
})
