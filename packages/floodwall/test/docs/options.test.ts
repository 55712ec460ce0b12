import { inspect } from 'node:util'
import { balance, breaker, type Kind } from 'floodwall'
import { builtIn } from 'floodwall/rules'
import { describe, expect, test } from 'vitest'
import { codeIn, page, rows, section } from './pages.ts'

// The tables of the documents are the schemas: the same fields, the same defaults.

/** A schema of valibot, as far as we look into it. */
interface Inner {
  readonly type: string
  readonly entries?: Readonly<Record<string, Inner>>
  readonly wrapped?: Inner
  readonly default?: unknown
}

/** One line of a table: the option, and what its second column must say. */
type Line = readonly [name: string, fallback: string]

const kinds: readonly Kind[] = [...builtIn.values(), balance as unknown as Kind]

const file = (kind: string): string => `docs/${kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.md`

const entryOf = (schema: unknown, name: string): Inner => (schema as Inner).entries?.[name] as Inner
const errorCost = entryOf(breaker.options, 'errorCost').wrapped as Inner
const OWN_TABLE: readonly Inner[] = [breaker.options as unknown as Inner, errorCost]

function linesOf(schema: Inner, prefix = ''): Line[] {
  return Object.entries(schema.entries ?? {}).flatMap(([name, entry]): Line[] => {
    const inner = entry.wrapped ?? entry
    // Options in options: each stands in the table by its whole name, unless they have a table of their own.
    if (inner.entries !== undefined && !OWN_TABLE.includes(inner)) return linesOf(inner, `${prefix}${name}.`)
    return [[prefix + name, fallbackOf(entry)]]
  })
}

function fallbackOf(entry: Inner): string {
  if (entry.type !== 'optional') return 'required'
  const { default: value } = entry
  if (value === undefined) return 'words'
  // A span is written as it is meant: 10s. A word is one of several: 'fifo'.
  const isSpan = typeof value === 'string' && /^\d/.test(value)
  return isSpan ? value : inspect(value, { breakLength: Number.POSITIVE_INFINITY })
}

/** The same of a row: code, `required`, or words such as "off" where the schema has no default. */
function lineIn([name, fallback]: readonly string[]): Line {
  const said = fallback === 'required' ? fallback : (codeIn(fallback) ?? 'words')
  return [codeIn(name) ?? `not code: ${name}`, said]
}

describe.each(kinds.map((kind) => [kind.kind, kind] as const))('%s', (name, kind) => {
  const text = page(file(name))

  test('the table of options names the fields of the schema with their defaults', () => {
    expect(rows(section(text, '## Options')).map(lineIn)).toEqual(linesOf(kind.options as unknown as Inner))
  })

  test('the table of inspect() names the fields of the snapshot', () => {
    const fields = Object.keys((kind.snapshot as unknown as Inner).entries ?? {})
    const told = rows(section(text, '## What it tells')).map(([field]) => codeIn(field))
    expect(told).toEqual(fields.filter((field) => field !== 'kind' && field !== 'path'))
  })

  test('the page is listed in the index and in both READMEs', () => {
    for (const index of ['README.md', 'README.zh-CN.md']) expect(page(index).text).toContain(`](${file(name)})`)
    expect(page('docs/README.md').text).toContain(`](${file(name).replace('docs/', '')})`)
  })
})

test('the table of errorCost is its schema', () => {
  const table = section(page('docs/breaker.md'), '### By what errors cost')
  expect(rows(table).map(lineIn)).toEqual(linesOf(errorCost))
})
