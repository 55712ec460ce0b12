import type { Kind } from 'floodwall'
import { expect, test } from 'vitest'
import { entriesOf, issues, kinds, LEAST, layersOfEachKind } from './layers-of-each-kind.ts'

// Options are wrong in many ways; each error names the field, the value and what was expected. Nothing is converted in silence.

const SPAN = 'a span such as 250 (ms), "250ms" or "1.5s"'

/** What a field takes, in the words of its error. */
const EXPECTED = {
  span: `${SPAN}, above 0`,
  spanOrZero: SPAN,
  spanOrMedian: `${SPAN}, or "p50"`,
  share: 'a share above 0 and at most 1 (0.5 is 50 %)',
  shareOrZero: 'a share from 0 to 1 (0.5 is 50 %)',
  count: 'a whole number from 1',
  countOrZero: 'a whole number from 0',
  amount: 'a number of 0 or more',
  rate: 'a number of 0 or more, or bytes in a span such as "10MB/s", "512KiB/s" or "1.5MiB/min"',
  units: 'a number of 0 or more, or bytes such as "64KiB" or "10MB"',
  factor: 'a number from 1 to 1000',
  order: 'one of "fifo", "lifo", "adaptive"',
  trigger: 'one of "excess", "age"',
  judged: 'one of "arrival", "turn"',
  slotLayer: 'a layer that lends slots, such as a bulkhead',
  shares: 'shares by name, such as { web: 0.6, batch: 0.3 }',
  partitionOf: '"criticality", "key", "method", or a function from the call to a name',
  charge: 'one of "calls", "time"',
  algorithm: 'one of "tokenBucket", "gcra", "leakyBucket", "slidingWindow", "slidingLog", "fixedWindow", "warmUp"',
  layer: 'a layer that makes a gate',
  by: 'a function from the call to its key',
  api: 'a function from the call to its API',
  quorum: 'a function from the outcome to a number of endpoints',
  flag: 'true or false',
  halfOpenEnd: 'one of "open", "closed"',
  action: 'one of "atOnce", "backoff", "asked", "never"',
  wait: 'a function from the retry to its wait',
  delay: 'a percentile such as "p95", a span such as 50 (ms) or "50ms", or a delay of your own',
} as const

type Takes = keyof typeof EXPECTED

/** What the fields of the basic kinds take, each with words of its own. A field that is new and not here fails the test below. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Takes | Readonly<Record<string, Takes>> | null>>>> = {
  breaker: {
    failureRate: 'share',
    slowRate: 'share',
    errorCount: 'count',
    over: 'span',
    buckets: 'count',
    lastCalls: 'count',
    atLeast: 'count',
    consecutive: 'count',
    slowAfter: 'span',
    openFor: 'span',
    growth: 'factor',
    openAtMost: 'span',
    healthyAfter: 'span',
    jitter: 'shareOrZero',
    eager: 'flag',
    probes: 'count',
    probeFailureRate: 'share',
    probeLapse: 'span',
    halfOpenAtMost: 'span',
    halfOpenEnd: 'halfOpenEnd',
    ramp: 'span',
    errorCost: null,
  },
  bulkhead: { slots: 'countOrZero' },
  deadline: { within: 'span', margin: 'spanOrZero', floor: 'spanOrMedian' },
  hedge: {
    after: 'delay',
    atLeast: 'spanOrZero',
    over: 'span',
    budget: { ratio: 'shareOrZero', minimum: 'countOrZero', over: 'span' },
    most: 'count',
  },
  holdBack: { atMost: 'span', jitter: 'shareOrZero', max: 'count', by: 'api', quorum: 'quorum' },
  keyed: { of: 'layer', max: 'count', by: 'by' },
  partitions: { of: 'slotLayer', shares: 'shares', by: 'partitionOf', keepFor: 'span' },
  queue: {
    size: 'count',
    atMost: 'span',
    order: 'order',
    codel: { target: 'span', interval: 'span', trigger: 'trigger', at: 'judged' },
  },
  pace: { rate: 'rate', per: 'span', burst: 'units', atMost: 'span', size: 'count' },
  rateLimit: {
    rate: 'rate',
    per: 'span',
    burst: 'units',
    charge: 'charge',
    algorithm: 'algorithm',
    warmUp: { over: 'span', coldFactor: 'factor' },
  },
  retry: {
    attempts: 'count',
    on: { failure: 'action', timeout: 'action', overload: 'action', quota: 'action' },
    backoff: { first: 'spanOrZero', factor: 'factor', atMost: 'span' },
    wait: 'wait',
    elsewhereAbove: 'share',
    budget: { ratio: 'shareOrZero', minimum: 'countOrZero', over: 'span' },
    pauseAtMost: 'span',
  },
  shadow: { of: 'layer' },
  throttle: {
    k: 'factor',
    kStep: 'amount',
    over: 'span',
    buckets: 'count',
    atLeast: 'count',
    probeEvery: 'span',
    probeShare: 'shareOrZero',
    slowAfter: 'span',
  },
  timeout: { after: 'span' },
}

/** Wrong wherever they stand. */
const NEVER: unknown[] = [
  Number.NaN,
  Number.NEGATIVE_INFINITY,
  Number.POSITIVE_INFINITY,
  -1,
  '-1s',
  'x',
  '',
  null,
  true,
  [],
  Symbol('s'),
  5n,
]

const WRONG: Readonly<Record<Takes, unknown[]>> = {
  span: [...NEVER, 0, '0ms', '60', '1e3s', {}, '999999999999d', 1e16],
  spanOrZero: [...NEVER, '60', {}, '999999999999d'],
  spanOrMedian: [...NEVER, '60', {}, '999999999999d', 'p5', 'P50', 'p95'],
  share: [...NEVER, 0, 1.0001, 50, '0.5', {}],
  shareOrZero: [...NEVER, 1.0001, 50, '0.5', {}],
  count: [...NEVER, 0, 0.5, 1.5, '3', 1e10, {}],
  countOrZero: [...NEVER, 0.5, '3', 1e10, {}],
  amount: [...NEVER, '3', 1e13, {}],
  rate: [...NEVER, '3', 1e13, {}, '10MB', '10Mb/s', '10MB/ms', '2000GB/s'],
  units: [...NEVER, '3', 1e13, {}, '10MB/s', '10KB', '2000GB'],
  factor: [...NEVER, 0, 0.99, 1001, '2', {}],
  order: [...NEVER, 0, 'FIFO', 'fifo '],
  trigger: [...NEVER, 0, 'load'],
  judged: [...NEVER, 0, 'turns'],
  slotLayer: [...NEVER, 0, {}, () => 1, layersOfEachKind()['timeout'], { kind: 'bulkhead', slots: 1 }],
  shares: NEVER.filter((wrong) => !Array.isArray(wrong)),
  partitionOf: [...NEVER, 0, 'tenant', {}],
  charge: [...NEVER, 0, 'call'],
  algorithm: [...NEVER, 0, 'gcra ', 'token-bucket', {}],
  layer: [...NEVER, 0, {}, () => 1, { kind: 'bulkhead', slots: 1 }],
  by: [...NEVER, 0, 'key', {}],
  api: [...NEVER, 0, 'GET /items', {}],
  quorum: [...NEVER, 0, 3, {}],
  flag: [...NEVER.filter((wrong) => wrong !== true), 0, 1, 'true', {}],
  halfOpenEnd: [...NEVER, 0, 'OPEN', 'halfOpen', {}],
  action: [...NEVER, 0, 'always', 'at-once', {}],
  wait: [...NEVER, 0, '50ms', {}],
  delay: [...NEVER, 0, '0ms', 'p0', 'p100', '95', { ms: () => 1 }, { record: () => {} }, {}],
}

test('every field of these kinds is in the table', () => {
  const named = Object.keys(FIELDS).map((kind) => [
    kind,
    Object.keys(entriesOf((kinds[kind] as Kind).options) ?? {}).sort(),
  ])
  expect(Object.fromEntries(named)).toEqual(
    Object.fromEntries(Object.entries(FIELDS).map(([kind, fields]) => [kind, Object.keys(fields).sort()])),
  )
})

const rows = Object.entries(FIELDS).flatMap(([kind, fields]) =>
  Object.entries(fields).flatMap(([field, takes]): [string, string, Takes, (value: unknown) => object][] => {
    const least = LEAST[kind] ?? {}
    // Tested with its kind.
    if (takes === null) return []
    if (typeof takes === 'string') return [[kind, field, takes, (value) => ({ ...least, [field]: value })]]
    return Object.entries(takes).map(([inner, what]) => [
      kind,
      `${field}.${inner}`,
      what,
      (value) => ({ ...least, [field]: { [inner]: value } }),
    ])
  }),
)

test.each(rows)('%s.%s takes no wrong value', (kind, field, takes, withValue) => {
  for (const value of WRONG[takes]) {
    expect(issues(kind, withValue(value)), String(value)).toEqual([
      { path: `${kind}.${field}`, value: expect.any(String), expected: EXPECTED[takes] },
    ])
  }
})

test.each(Object.keys(FIELDS))('%s: all of them are said at once, in one message', (kind) => {
  const fields = Object.entries(FIELDS[kind] ?? {}).filter(([, takes]) => typeof takes === 'string')
  const wrong = Object.fromEntries(fields.map(([field]) => [field, Number.NaN]))
  expect(issues(kind, { ...LEAST[kind], ...wrong }).map((issue) => issue.path)).toEqual(
    fields.map(([field]) => `${kind}.${field}`),
  )
})
