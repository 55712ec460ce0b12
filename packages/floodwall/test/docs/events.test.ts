import { expect, test } from 'vitest'
import { parse } from '../architecture/source.ts'
import { codeIn, page, rows, section } from './pages.ts'

// The table of events is the type of events.

const SOURCE = 'packages/floodwall/src/core/event.ts'

interface Member {
  readonly key?: { readonly name?: string }
  readonly typeAnnotation?: { readonly typeAnnotation?: { readonly literal?: { readonly value?: unknown } } }
}

/** Each variant of the union: its type, and its other fields. */
function variants(): [type: string, fields: string[]][] {
  const found: [string, string[]][] = []
  parse(page(SOURCE)).walk((node) => {
    if (node.type !== 'TSTypeLiteral') return
    const members = node['members'] as readonly Member[]
    const type = members.find(({ key }) => key?.name === 'type')
    if (type === undefined) return
    const fields = members.filter((member) => member !== type).map(({ key }) => String(key?.name))
    found.push([String(type.typeAnnotation?.typeAnnotation?.literal?.value), fields])
  })
  return found
}

test('every event and its fields are told', () => {
  const told = rows(section(page('docs/seeing.md'), '## Events')).map(([type, fields = '']) => [
    codeIn(type),
    fields.split(', ').map(codeIn),
  ])
  expect(variants().length).toBeGreaterThan(4)
  expect(told).toEqual(variants())
})
