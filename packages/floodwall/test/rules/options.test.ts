import { type ConfigError, isConfigError, type Kind } from 'floodwall'
import { expect, test } from 'vitest'
import { kinds, layersOfEachKind } from './layers-of-each-kind.ts'

// Options are wrong in many ways; each error names the field, the value and what was expected. Nothing is converted in silence.

const SPAN = 'a span such as 250 (ms), "250ms" or "1.5s"'

/** What a field takes, in the words of its error. */
const EXPECTED = {
  span: `${SPAN}, above 0`,
  spanOrZero: SPAN,
  share: 'a share above 0 and at most 1 (0.5 is 50 %)',
  shareOrZero: 'a share from 0 to 1 (0.5 is 50 %)',
  count: 'a whole number from 1',
  countOrZero: 'a whole number from 0',
  amount: 'a number of 0 or more',
  factor: 'a number from 1 to 1000',
  order: 'one of "fifo", "lifo"',
  charge: 'one of "calls", "time"',
  layer: 'a layer that makes a gate',
  by: 'a function from the call to its key',
} as const

type Takes = keyof typeof EXPECTED

/** Every field of every kind. A field that is new and not here fails the test below. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, Takes | Readonly<Record<string, Takes>>>>>> = {
  breaker: {
    failureRate: 'share', over: 'span', buckets: 'count', lastCalls: 'count', atLeast: 'count', consecutive: 'count', slowAfter: 'span',
    openFor: 'span', growth: 'factor', openAtMost: 'span', healthyAfter: 'span', jitter: 'shareOrZero', probes: 'count', probeFailureRate: 'share',
    probeLapse: 'span',
  },
  bulkhead: { slots: 'countOrZero' },
  deadline: { within: 'span', floor: 'spanOrZero' },
  keyed: { of: 'layer', max: 'count', by: 'by' },
  queue: { size: 'count', atMost: 'span', order: 'order' },
  rateLimit: { rate: 'amount', per: 'span', burst: 'amount', charge: 'charge' },
  retry: {
    attempts: 'count',
    backoff: { first: 'span', factor: 'factor', atMost: 'span' },
    budget: { ratio: 'shareOrZero', minimum: 'countOrZero', over: 'span' },
    pauseAtMost: 'span',
  },
  shadow: { of: 'layer' },
  timeout: { after: 'span' },
}

/** Wrong wherever they stand. */
const NEVER: unknown[] = [Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, -1, '-1s', 'x', '', null, true, [], Symbol('s'), 5n]

const WRONG: Readonly<Record<Takes, unknown[]>> = {
  span: [...NEVER, 0, '0ms', '60', '1e3s', {}, '999999999999d', 1e16],
  spanOrZero: [...NEVER, '60', {}, '999999999999d'],
  share: [...NEVER, 0, 1.0001, 50, '0.5', {}],
  shareOrZero: [...NEVER, 1.0001, 50, '0.5', {}],
  count: [...NEVER, 0, 0.5, 1.5, '3', 1e10, {}],
  countOrZero: [...NEVER, 0.5, '3', 1e10, {}],
  amount: [...NEVER, '3', 1e13, {}],
  factor: [...NEVER, 0, 0.99, 1001, '2', {}],
  order: [...NEVER, 0, 'FIFO', 'fifo '],
  charge: [...NEVER, 0, 'call'],
  layer: [...NEVER, 0, {}, () => 1, { kind: 'bulkhead', slots: 1 }],
  by: [...NEVER, 0, 'key', {}],
}

/** The least that each kind asks for. */
const LEAST: Readonly<Record<string, object>> = {
  bulkhead: { slots: 1 },
  deadline: { within: 1 },
  keyed: { of: layersOfEachKind()['bulkhead'] },
  rateLimit: { rate: 1 },
  shadow: { of: layersOfEachKind()['bulkhead'] },
  timeout: { after: 1 },
}

function issues(kind: string, options: unknown): ConfigError['issues'] {
  try {
    ;(kinds[kind] as Kind)(options as object)
  } catch (error) {
    if (isConfigError(error)) return error.issues
    throw error
  }
  return []
}

function entriesOf(schema: unknown): Record<string, unknown> | undefined {
  let at = schema as { wrapped?: unknown; entries?: Record<string, unknown> } | undefined
  while (at?.wrapped !== undefined) at = at.wrapped as typeof at
  return at?.entries
}

test('every field of every kind is in the table', () => {
  const shape = (entries: Record<string, unknown>): unknown =>
    Object.fromEntries(Object.entries(entries).map(([name, schema]) => [name, entriesOf(schema) === undefined ? 0 : shape(entriesOf(schema) as never)]))
  const table = (fields: object): unknown =>
    Object.fromEntries(Object.entries(fields).map(([name, takes]) => [name, typeof takes === 'string' ? 0 : table(takes as object)]))
  const found = Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, shape(entriesOf(kind.options) ?? {})]))
  expect(found).toEqual(table(FIELDS))
})

const rows = Object.entries(FIELDS).flatMap(([kind, fields]) =>
  Object.entries(fields).flatMap(([field, takes]): [string, string, Takes, (value: unknown) => object][] => {
    const least = LEAST[kind] ?? {}
    if (typeof takes === 'string') return [[kind, field, takes, (value) => ({ ...least, [field]: value })]]
    return Object.entries(takes).map(([inner, what]) => [kind, `${field}.${inner}`, what, (value) => ({ ...least, [field]: { [inner]: value } })])
  }),
)

test.each(rows)('%s.%s takes no wrong value', (kind, field, takes, withValue) => {
  for (const value of WRONG[takes]) {
    expect(issues(kind, withValue(value)), String(value)).toEqual([{ path: `${kind}.${field}`, value: expect.any(String), expected: EXPECTED[takes] }])
  }
})

test.each(Object.keys(kinds))('%s: all of them are said at once, in one message', (kind) => {
  const fields = Object.entries(FIELDS[kind] ?? {}).filter(([, takes]) => typeof takes === 'string')
  const wrong = Object.fromEntries(fields.map(([field]) => [field, Number.NaN]))
  expect(issues(kind, { ...LEAST[kind], ...wrong }).map((issue) => issue.path)).toEqual(fields.map(([field]) => `${kind}.${field}`))
})

test.each(Object.keys(kinds))('%s knows its fields', (kind) => {
  const known = Object.keys(FIELDS[kind] ?? {}).join(', ')
  expect(issues(kind, { ...LEAST[kind], colour: 'red' })).toEqual([{ path: `${kind}.colour`, value: '"red"', expected: `no such field; known: ${known}` }])
})

test('nested fields are known too', () => {
  expect(issues('retry', { backoff: { frist: 1 } })).toEqual([{ path: 'retry.backoff.frist', value: '1', expected: 'no such field; known: first, factor, atMost' }])
})

test.each(Object.keys(kinds))('%s takes an object, or nothing where nothing is required', (kind) => {
  for (const options of [null, 5, 'x', true]) expect(issues(kind, options)).toEqual([{ path: kind, value: String(typeof options === 'string' ? '"x"' : options), expected: 'an object of options' }])
  const required = Object.keys(LEAST[kind] ?? {})
  expect(issues(kind, {})).toEqual(required.map((field) => ({ path: `${kind}.${field}`, value: 'undefined', expected: 'this field (it is required)' })))
  expect(issues(kind, undefined)).toHaveLength(required.length)
})

test('values are shown short and on one line, whatever they are', () => {
  const show = (value: unknown) => issues('timeout', { after: value })[0]?.value
  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  expect(show('a\nb')).toBe('"a\\nb"')
  expect(show(circular)).toBe('an object')
  expect(show(() => 1)).toBe('a function')
  expect(show(Symbol('s'))).toBe('Symbol(s)')
  expect(show(5n)).toBe('5')
  expect(show({ toJSON: () => undefined })).toBe('an object')
  expect(show('x'.repeat(100))?.length).toBe(81)
  expect(show('redis://me:pw@host')).toBe('"redis://***@host"')
})
