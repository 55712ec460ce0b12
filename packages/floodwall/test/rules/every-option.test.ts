import { parseLayers } from 'floodwall/rules'
import { describe, expect, test } from 'vitest'
import { entriesOf, issues, kinds, LEAST } from './layers-of-each-kind.ts'

// What holds for the options of every kind, those to come included.

/** The ways to every field, nested ones too: 'backoff.first'. */
function fieldsOf(schema: unknown, path: readonly string[] = []): string[][] {
  return Object.entries(entriesOf(schema) ?? {}).flatMap(([name, inner]) => [
    [...path, name],
    ...fieldsOf(inner, [...path, name]),
  ])
}

/** The least options of `kind`, with `value` in the field. */
function withValue(kind: string, path: readonly string[], value: unknown): object {
  const nested = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
  return { ...LEAST[kind], ...nested }
}

const fields = Object.entries(kinds).flatMap(([kind, { options }]) =>
  fieldsOf(options).map((path) => [kind, path.join('.'), path] as const),
)

test.each(fields)('%s.%s: a wrong value is named with its field and what was expected', (kind, field, path) => {
  for (const value of [Symbol('wrong'), Number.NaN, null]) {
    const found = issues(kind, withValue(kind, path, value))
    expect(found.map((issue) => issue.path)).toEqual([`${kind}.${field}`])
    expect(found[0]).toMatchObject({ value: String(value), expected: expect.stringMatching(/^(?!another type)./) })
  }
})

const nested = fields.filter(([kind, , path]) => path.length > 1 && kinds[kind] !== undefined)

test.each(nested)('%s.%s stands in an object that knows its fields', (kind, _, path) => {
  const at = path.slice(0, -1)
  const [issue] = issues(kind, withValue(kind, [...at, 'colour'], 'red'))
  expect(issue).toMatchObject({ path: `${kind}.${at.join('.')}.colour`, value: '"red"' })
  expect(issue?.expected).toMatch(new RegExp(`^no such field; known: .*\\b${path.at(-1)}\\b`))
})

test.each(Object.keys(kinds))('%s knows its fields', (kind) => {
  const known = Object.keys(entriesOf(kinds[kind]?.options) ?? {}).join(', ')
  expect(issues(kind, { ...LEAST[kind], colour: 'red' })).toEqual([
    { path: `${kind}.colour`, value: '"red"', expected: `no such field; known: ${known}` },
  ])
})

test.each(Object.keys(kinds))('%s takes an object, or nothing where nothing is required', (kind) => {
  for (const options of [null, 5, 'x', true])
    expect(issues(kind, options)).toEqual([
      { path: kind, value: String(typeof options === 'string' ? '"x"' : options), expected: 'an object of options' },
    ])
  const required = Object.keys(LEAST[kind] ?? {})
  expect(issues(kind, {})).toEqual(
    required.map((field) => ({
      path: `${kind}.${field}`,
      value: 'undefined',
      expected: 'this field (it is required)',
    })),
  )
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

describe('gates within gates', () => {
  test.each(['keyed', 'shadow'])('%s of a policy is refused where it is said', (kind) => {
    expect(() => parseLayers([{ kind, of: { kind: 'timeout', after: 1 } }])).toThrow('layers[0].of')
  })
})
