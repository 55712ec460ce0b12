import { expect, test } from 'vitest'
import { parse } from '../architecture/source.ts'
import { codeIn, page, rows, section } from './pages.ts'

// Whoever is refused finds the reason in the playbook, with what to look at, what to do and how to undo it.

const SOURCE = 'packages/floodwall/src/core/gate.ts'
const PARTS = ['Symptom', 'Check', 'Action', 'Undo']

interface Literal {
  readonly literal?: { readonly value?: unknown }
}

/** The words of `type Reason` in the source. */
function reasons(): string[] {
  const found: string[] = []
  parse(page(SOURCE)).walk((node) => {
    const { id, typeAnnotation } = node as { id?: { name?: string }; typeAnnotation?: { types?: Literal[] } }
    if (node.type !== 'TSTypeAliasDeclaration' || id?.name !== 'Reason') return
    for (const { literal } of typeAnnotation?.types ?? []) found.push(String(literal?.value))
  })
  return found
}

const playbook = page('docs/playbook.md')

test('the source has reasons', () => {
  expect(reasons()).toContain('open')
  expect(reasons().length).toBeGreaterThan(5)
})

test('each reason has an entry, and there are no others', () => {
  const headlines = [...playbook.text.matchAll(/^## (.+)$/gm)].map(([, words]) => words)
  expect(headlines).toEqual(reasons())
})

test.each(reasons())('%s has a symptom, a check, an action and an undo', (reason) => {
  const parts = [...section(playbook, `## ${reason}`).matchAll(/^- \*\*(.+)\.\*\* \S/gm)].map(([, part]) => part)
  expect(parts).toEqual(PARTS)
})

test('the table at the top names them all', () => {
  const named = rows(playbook.text).map(([cell = '']) => codeIn(/^\[(.+)\]\(#.+\)$/.exec(cell)?.[1]))
  expect(named).toEqual(reasons())
})
