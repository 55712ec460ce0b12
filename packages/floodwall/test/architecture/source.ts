import { posix } from 'node:path'
import { parseSync } from 'vite'

/** A file as it lies in the repository; the path is relative to its root, with forward slashes. */
export interface Source {
  readonly path: string
  readonly text: string
}

export interface Import {
  readonly from: string
  /** The path in the repository of a relative import, undefined for a package. */
  readonly target: string | undefined
  /** Vanishes when types are stripped, so it cannot take part in a cycle of modules. */
  readonly typeOnly: boolean
  readonly line: number
}

/** A node of the ESTree that the parser returns, seen loosely: the rules look at few kinds. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface Module extends Source {
  readonly statements: readonly Node[]
  readonly comments: readonly { readonly start: number; readonly end: number }[]
  readonly imports: readonly Import[]
  lineOf(node: Node): number
  /** Calls back for every node, with its parent and the field of the parent that holds it. */
  walk(visit: (node: Node, parent: Node, field: string) => void): void
}

export function parse(source: Source): Module {
  const { program, comments, errors } = parseSync(source.path, source.text)
  const [error] = errors
  if (error !== undefined) throw new Error(`${source.path}: ${error.message}`)
  const root = program as unknown as Node & { readonly body: readonly Node[] }
  const lineOf = (node: Node) => source.text.slice(0, node.start).split('\n').length
  const walk: Module['walk'] = (visit) => descend(root, visit)
  const imports: Import[] = []
  walk((node) => {
    const from = specifier(node)
    if (from === undefined) return
    const target = from.startsWith('.') ? posix.join(posix.dirname(source.path), from) : undefined
    const typeOnly = node.importKind === 'type' || node.exportKind === 'type' || node.type === 'TSImportType'
    imports.push({ from, target, typeOnly, line: lineOf(node) })
  })
  return { ...source, statements: root.body, comments, imports, lineOf, walk }
}

/** What a node imports: static, dynamic and type imports, and re-exports. */
function specifier(node: Node): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ImportExpression':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'TSImportType': {
      const { value } = (node.source ?? {}) as { value?: unknown }
      return typeof value === 'string' ? value : undefined
    }
    default:
      return undefined
  }
}

function descend(node: Node, visit: (node: Node, parent: Node, field: string) => void): void {
  for (const [field, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (!isNode(child)) continue
      visit(child, node, field)
      descend(child, visit)
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

/** True where an identifier names a member, as in `x.Date` or `{ Date: 1 }`, and not the thing itself. */
export function isMemberName(parent: Node, field: string): boolean {
  if (parent.computed === true) return false
  return (
    (field === 'property' && parent.type === 'MemberExpression') ||
    field === 'key' ||
    (field === 'right' && parent.type === 'TSQualifiedName')
  )
}
