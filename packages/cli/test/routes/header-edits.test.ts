import fc from 'fast-check'
import { parse } from 'floodwall/rules'
import { describe, expect, test } from 'vitest'
import { edit, type HeaderEdits, headerEdits, noEdits, textOf } from '../../src/gateway/routes/header-edits.ts'

function edits(given: object): HeaderEdits {
  return parse(headerEdits, given, 'request')
}

function edited(lines: readonly string[], given: object, values: Readonly<Record<string, string>> = {}): string[] {
  const copy = [...lines]
  edit(copy, edits(given), new Map(Object.entries(values)))
  return copy
}

describe('header edits', () => {
  test('set takes the place of every line of that name, in any case', () => {
    const lines = ['X-A', '1', 'Kept', '2', 'x-a', '3']
    expect(edited(lines, { set: { 'X-a': 'new', 'X-B': 'b' } })).toEqual(['Kept', '2', 'x-a', 'new', 'x-b', 'b'])
  })

  test('remove takes every line', () => {
    expect(edited(['A', '1', 'B', '2', 'a', '3'], { remove: ['A', 'none'] })).toEqual(['B', '2'])
  })

  test('what is removed and set is set', () => {
    expect(edited(['A', '1'], { remove: ['a'], set: { a: '2' } })).toEqual(['a', '2'])
  })

  test('nothing is nothing', () => {
    expect(edits({})).toBe(noEdits)
    expect(edited(['A', '1'], {})).toEqual(['A', '1'])
  })

  test.each([
    ['{id}', { id: '7' }, '7'],
    ['user {id} of {shop}', { id: '7', shop: 's' }, 'user 7 of s'],
    ['{id}{id}', { id: '7' }, '77'],
    ['{rest}', { rest: '' }, ''],
    ['{id}', { id: '{shop}', shop: 'no' }, '{shop}'],
    ['{"a": {"b": 1}}', {}, '{"a": {"b": 1}}'],
    ['{ id }', { id: '7' }, '{ id }'],
  ])('%s with %j', (value, values, text) => {
    expect(edited([], { set: { x: value } }, values)).toEqual(['x', text])
  })

  test('a template can be shown as it was written', () => {
    const { templates } = edits({ set: { x: 'a {b}{c} d' } })
    expect(templates.map(textOf)).toEqual(['a {b}{c} d'])
    expect(templates.map(({ names }) => names)).toEqual([['b', 'c']])
  })

  test('other lines stay, in their order, and each name that is set is there once', () => {
    const name = fc.constantFrom('a', 'A', 'b', 'B', 'c', 'd', 'x-y')
    const lines = fc.array(fc.tuple(name, fc.constantFrom('1', '2', '')), { maxLength: 8 })
    const set = fc.dictionary(fc.constantFrom('a', 'b', 'e'), fc.constantFrom('new', ''), { noNullPrototype: true })
    const remove = fc.array(fc.constantFrom('b', 'c', 'f'), { maxLength: 3 })
    fc.assert(
      fc.property(lines, set, remove, (pairs, setting, removing) => {
        const gone = [...Object.keys(setting), ...removing]
        const kept = pairs.filter(([each]) => !gone.includes(each.toLowerCase()))
        expect(edited(pairs.flat(), { set: setting, remove: removing })).toEqual([
          ...kept.flat(),
          ...Object.entries(setting).flat(),
        ])
      }),
      { seed: 29, numRuns: 1000 },
    )
  })
})

// C29: what frames a message, or could end a line, is in no edit.
describe('C29', () => {
  const framing = ['Host', 'connection', 'Content-Length', 'Transfer-Encoding', 'TE', 'Trailer', 'Upgrade', 'Expect']

  test.each([...framing, 'Keep-Alive', 'Proxy-Authorization', '', 'a b', 'a:', 'a\r\nb', 'é'])(
    '%j cannot be set',
    (name) => {
      expect(() => edits({ set: { [name]: 'x' } })).toThrow(/expected/)
      expect(() => edits({ remove: [name] })).toThrow(/expected/)
    },
  )

  test.each(['a\r\nX-Admin: 1', 'a\nb', 'a\rb', 'a\0b', 'é', '\x7f', 'x'.repeat(4097)])('%j is no value', (value) => {
    expect(() => edits({ set: { x: value } })).toThrow(/expected/)
  })
})
