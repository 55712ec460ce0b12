import type { Module, Node } from './source.ts'

const LINES = { src: 300, test: 400 }

/** Names that say nothing of what a thing does. */
const EMPTY_NAME = /(?:^|[a-z0-9])(?:Manager|Helper|Util|Impl|Base)s?$/
const EMPTY_FILE_NAME = /(?:^|-)(?:manager|helper|util|impl|base)s?$/
const HUNGARIAN = /^I[A-Z][a-z]/
const KEBAB_CASE = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

const isSource = (path: string): boolean => /^packages\/[^/]+\/src\//.test(path)

/** A file that a machine wrote or that is a list of cases may be long. */
const isData = (path: string): boolean => /\/(?:vectors|generated)\/|\.generated\./.test(path)

export function* size({ path, text }: Module): Generator<string> {
  const limit = isSource(path) ? LINES.src : LINES.test
  const lines = text.replace(/\n$/, '').split('\n').length
  if (lines > limit && !isData(path)) yield `${path}: ${lines} lines, ${limit} at most: find the second noun`
}

export function* names(module: Module): Generator<string> {
  const { path, statements } = module
  // From packages/<name>/ on: 'src', 'core', 'gate'; the endings (.test.ts) are none of this rule.
  for (const part of path.split('/').slice(2)) {
    const name = part.replace(/\..*$/, '')
    if (!KEBAB_CASE.test(name)) yield `${path}: '${part}' is not kebab-case`
    if (EMPTY_FILE_NAME.test(name)) yield `${path}: '${part}' says nothing of what is in it`
  }
  if (!isSource(path)) return
  for (const statement of statements) {
    for (const name of declared(statement)) {
      const at = `${path}:${module.lineOf(statement)}`
      if (EMPTY_NAME.test(name)) yield `${at} '${name}' says nothing of what it does`
      if (HUNGARIAN.test(name)) yield `${at} '${name}' wears a prefix`
    }
  }
}

/** One way to export, and index files that are tables of contents. */
export function* exporting(module: Module): Generator<string> {
  const { path, statements } = module
  if (!isSource(path)) return
  for (const statement of statements) {
    const at = `${path}:${module.lineOf(statement)}`
    const specifiers = (statement.specifiers ?? []) as { exported?: Node }[]
    const named = specifiers.some(({ exported }) => exported?.name === 'default')
    if (statement.type === 'ExportDefaultDeclaration' || named) yield `${at} export default`
    const passesOn =
      statement.type === 'ExportAllDeclaration' ||
      (statement.type === 'ExportNamedDeclaration' && statement.source !== null)
    if (path.endsWith('/index.ts') && !passesOn) yield `${at} an index.ts holds re-exports only`
  }
}

/** The names that a top-level statement declares. */
function declared(statement: Node): string[] {
  const declaration = (statement.declaration ?? statement) as Node
  const ids = Array.isArray(declaration.declarations)
    ? (declaration.declarations as Node[]).map(({ id }) => id)
    : [declaration.id]
  return ids.flatMap((id) => {
    const { name } = (id ?? {}) as { name?: unknown }
    return typeof name === 'string' ? [name] : []
  })
}
