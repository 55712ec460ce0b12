import {
  Breaker,
  breaker,
  bulkhead,
  type ConfigIssue,
  isConfigError,
  type Kind,
  keyed,
  rateLimit,
  Semaphore,
  shadow,
  TokenBucket,
} from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { describe, expect, test } from 'vitest'
import { ask } from '../support/asks.ts'

const SPAN = 'a span such as 250 (ms), "250ms" or "1.5s"'
const COUNT = 'a whole number from 1'
const RATE = 'a number of 0 or more, or bytes in a span such as "10MB/s", "512KiB/s" or "1.5MiB/min"'
const SHARE = 'a share above 0 and at most 1 (0.5 is 50 %)'

/** The faults that `make` was refused for. */
function faults(make: () => unknown): readonly ConfigIssue[] {
  try {
    make()
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
  throw new Error('nothing was refused')
}

/** `[field, expectation, values that are none]`. */
type Row = readonly [field: string, expected: string, bad: readonly unknown[]]

const NO_NUMBER = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '1', '0.5', null, {}, [], true]
const NO_COUNT = [...NO_NUMBER, -1, 1.5, 2e9]
const NO_SPAN = [...NO_NUMBER, -1, '-1s', '1e3s', '5 s', '5', '5sec', '', 1e15, 3.2e13]
const NO_SHARE = [...NO_NUMBER, -0.1, 1.0001, 50]

const BREAKER: readonly Row[] = [
  ['failureRate', SHARE, [...NO_SHARE, 0]],
  ['slowRate', SHARE, [...NO_SHARE, 0]],
  ['errorCount', COUNT, [...NO_COUNT, 0]],
  ['over', `${SPAN}, above 0`, [...NO_SPAN, 0, '0s']],
  ['buckets', COUNT, [...NO_COUNT, 0]],
  ['buckets', 'a whole number from 1 to 65536', [65_537, 1e6]],
  ['lastCalls', COUNT, [...NO_COUNT, 0]],
  ['lastCalls', 'a whole number from 1 to 16777216', [16_777_217, 1e9]],
  ['atLeast', COUNT, [...NO_COUNT, 0]],
  ['errorCost', 'an object of options', [null, 1, 'x', true, Number.NaN]],
  ['consecutive', COUNT, [...NO_COUNT, 0]],
  ['slowAfter', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['openFor', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['growth', 'a number from 1 to 1000', [...NO_NUMBER, 0, 0.99, 1001, -2]],
  ['openAtMost', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['healthyAfter', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['jitter', 'a share from 0 to 1 (0.5 is 50 %)', NO_SHARE],
  ['eager', 'true or false', ['true', 1, 0, null, {}, []]],
  ['probes', COUNT, [...NO_COUNT, 0]],
  ['probeFailureRate', SHARE, [...NO_SHARE, 0]],
  ['probeLapse', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['halfOpenAtMost', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['halfOpenEnd', 'one of "open", "closed"', ['Open', 'halfOpen', '', 1, null, {}]],
  ['ramp', `${SPAN}, above 0`, [...NO_SPAN, 0]],
]

const BULKHEAD: readonly Row[] = [['slots', 'a whole number from 0', NO_COUNT]]

const ALGORITHM = 'one of "tokenBucket", "gcra", "leakyBucket", "slidingWindow", "slidingLog", "fixedWindow", "warmUp"'

const RATE_LIMIT: readonly Row[] = [
  ['rate', RATE, [...NO_NUMBER, -1, 1e13]],
  ['per', `${SPAN}, above 0`, [...NO_SPAN, 0]],
  ['burst', 'a number of 0 or more, or bytes such as "64KiB" or "10MB"', [...NO_NUMBER, -1, 1e13]],
  ['charge', 'one of "calls", "time"', [...NO_NUMBER, 'Time', 'bytes', 0]],
  ['algorithm', ALGORITHM, [...NO_NUMBER, 'token-bucket', 'Gcra', 0]],
  ['warmUp', 'an object of options', [null, 1, 'x', true]],
]

const KEYED: readonly Row[] = [
  ['of', 'a layer that makes a gate', [null, {}, 'breaker', 1, []]],
  ['max', COUNT, [...NO_COUNT, 0]],
  ['by', 'a function from the call to its key', ['key', {}, null, 1]],
]

const SHADOW: readonly Row[] = [['of', 'a layer that makes a gate', [null, {}, 'breaker', 1, []]]]

const inner = bulkhead({ slots: 1 })

const kinds = [
  [breaker, {}, BREAKER],
  [bulkhead, { slots: 1 }, BULKHEAD],
  [rateLimit, { rate: 1 }, RATE_LIMIT],
  [keyed, { of: inner }, KEYED],
  [shadow, { of: inner }, SHADOW],
] as unknown as readonly (readonly [kind: Kind, good: Record<string, unknown>, rows: readonly Row[]])[]

describe.each(kinds)('C35 $kind: bad options are refused by name, with value and expectation', (kind, good, rows) => {
  const cells = rows.flatMap(([field, expected, bad]) => bad.map((value) => [field, value, expected] as const))

  test.each(cells)('C35 %s: %s', (field, value, expected) => {
    expect(faults(() => kind({ ...good, [field]: value }))).toEqual([
      { path: `${kind.kind}.${field}`, value: expect.any(String), expected },
    ])
  })

  test.each(['treshold', '__proto__x', 'Slots', ''])('C35 an unknown field "%s", and which are known', (field) => {
    const [fault] = faults(() => kind({ ...good, [field]: 1 }))
    expect(fault?.path).toBe(`${kind.kind}.${field}`)
    expect(fault?.expected).toBe(`no such field; known: ${[...new Set(rows.map(([name]) => name))].join(', ')}`)
  })

  test.each([null, 1, 'x', true, Symbol('x')])('C35 options that are no object: %s', (options) => {
    const [fault] = faults(() => kind(options as never))
    expect(fault).toMatchObject({ path: kind.kind, expected: 'an object of options' })
  })

  test('C35 all faults at once, not one after the other', () => {
    const wrong = Object.fromEntries(rows.map(([field, , bad]) => [field, bad[0]]))
    const paths = faults(() => kind({ ...wrong, other: 1 })).map(({ path }) => path)
    const fields = [...new Set(rows.map(([field]) => field)), 'other']
    expect([...paths].sort()).toEqual(fields.map((field) => `${kind.kind}.${field}`).sort())
  })

  test('C35 a polluting key changes no prototype', () => {
    const options = JSON.parse(
      '{"__proto__": {"admin": true}, "constructor": {"prototype": {"admin": true}}}',
    ) as object
    expect(() => kind({ ...good, ...options })).toThrow()
    expect('admin' in {}).toBe(false)
  })
})

describe('C35 what is missing', () => {
  test.each([
    ['bulkhead', () => bulkhead({} as never), 'bulkhead.slots'],
    ['bulkhead', () => bulkhead(undefined as never), 'bulkhead.slots'],
    ['rateLimit', () => rateLimit({} as never), 'rateLimit.rate'],
    ['keyed', () => keyed({} as never), 'keyed.of'],
    ['shadow', () => shadow({} as never), 'shadow.of'],
  ])('C35 %s (%#)', (_, make, path) => {
    expect(faults(make)).toMatchObject([{ path, value: 'undefined', expected: 'this field (it is required)' }])
  })

  test('C35 the classes refuse as the layers do', () => {
    const env = new VirtualRuntime().env()
    expect(faults(() => new Breaker({ atLeast: 0 }, env))[0]?.path).toBe('breaker.atLeast')
    expect(faults(() => new Semaphore({ slots: -1 }, env))[0]?.path).toBe('bulkhead.slots')
    expect(faults(() => new TokenBucket({ rate: Number.NaN }, env))[0]?.path).toBe('rateLimit.rate')
  })

  test('C35 the message names field, value and expectation', () => {
    expect(() => breaker({ failureRate: 50 })).toThrow(`[config] breaker.failureRate: expected ${SHARE}, got 50`)
    expect(() => breaker({ failureRate: '0.5' as never })).toThrow(`expected ${SHARE}, got "0.5"`)
    expect(() => breaker({ openFor: -1 })).toThrow(`[config] breaker.openFor: expected ${SPAN}, above 0, got -1`)
  })
})

describe('defaults are those of the comments', () => {
  test('breaker', () => {
    expect(breaker().options).toEqual({
      failureRate: 0.5,
      over: 10_000,
      buckets: 10,
      atLeast: 20,
      openFor: 5000,
      growth: 2,
      openAtMost: 60_000,
      healthyAfter: 60_000,
      jitter: 0.1,
      probes: 3,
      probeFailureRate: 0.5,
      probeLapse: 10_000,
    })
  })

  test('bulkhead, rate limit, keyed, shadow', () => {
    expect(bulkhead({ slots: 0 }).options).toEqual({ slots: 0 })
    expect(rateLimit({ rate: 5 }).options).toEqual({ rate: 5, per: 1000, charge: 'calls' })
    expect(keyed({ of: inner }).options).toEqual({ of: inner, max: 10_000 })
    expect(shadow({ of: inner }).options).toEqual({ of: inner })
  })

  test('options are frozen, spans are milliseconds', () => {
    const layer = breaker({ over: '1.5m', slowAfter: '250us', openFor: 7 })
    expect(layer.options).toMatchObject({ over: 90_000, slowAfter: 0.25, openFor: 7 })
    expect(Object.isFrozen(layer.options)).toBe(true)
  })

  test('a breaker with no options at all opens at the 20th result when it is the 10th failure', () => {
    const world = new VirtualRuntime()
    const gate = breaker().build(world.env()) as Breaker
    for (let i = 0; i < 20; i++) {
      expect(gate.state(0)).toBe('closed')
      const permit = gate.tryAcquire(ask(0))
      if (permit.ok) permit.settle(i % 2 === 1 ? 'failure' : 'success', 1, 0)
    }
    expect(gate.state(0)).toBe('open')
  })

  test.each([
    [
      'the least',
      { failureRate: 1e-9, over: '1us', buckets: 1, lastCalls: 1, atLeast: 1, growth: 1, jitter: 0, probes: 1 },
    ],
    [
      'the most',
      { failureRate: 1, over: '365000d', buckets: 65_536, atLeast: 1e9, growth: 1000, jitter: 1, probes: 1e9 },
    ],
    ['the longest window in calls', { lastCalls: 16_777_216 }],
  ] as const)('what is allowed can be built: %s', (_, options) => {
    expect(breaker(options).build(new VirtualRuntime().env())).toBeInstanceOf(Breaker)
  })
})
