import { posix } from 'node:path'
import { type Module, type Node, parse } from '../architecture/source.ts'

/** Text of declarations by name. */
type Table = Map<string, string>

const NOWHERE = '// declared nowhere'

/**
 * What a user of an entry point can name, as text: each exported declaration from where the re-exports lead, without comments,
 * sorted by name. A change of this text is a change of the public interface.
 */
export function surface(entry: string, read: (file: string) => string): string {
  return `${print(new Declarations(read).exportedBy(entry))}\n`
}

class Declarations {
  readonly #read: (file: string) => string
  readonly #known = new Map<string, Table>()

  constructor(read: (file: string) => string) {
    this.#read = read
  }

  exportedBy(file: string): Table {
    const known = this.#known.get(file)
    if (known !== undefined) return known
    const table: Table = new Map()
    // Known before it is complete, for files that re-export types to each other.
    this.#known.set(file, table)

    const module = parse({ path: file, text: this.#read(file) })
    const local = this.#declaredBy(module)
    const stars: Table[] = []
    for (const statement of module.statements) {
      if (statement.type === 'ExportAllDeclaration') {
        const alias = statement.exported as Node | null
        if (alias === null)
          stars.push(this.#source(module, statement) ?? new Map([[plain(module, statement), plain(module, statement)]]))
        else table.set(nameOf(alias), this.#taken(module, statement, undefined))
      }
      if (statement.type !== 'ExportNamedDeclaration') continue
      for (const name of namesIn(statement)) table.set(name, local.get(name) ?? NOWHERE)
      for (const { local: there, exported } of specifiers(statement)) {
        const here = statement.source === null ? local.get(nameOf(there)) : this.#taken(module, statement, there)
        table.set(nameOf(exported), here ?? NOWHERE)
      }
    }
    // A file's own names hide those of `export *`.
    for (const star of stars) for (const [name, text] of star) if (!table.has(name)) table.set(name, text)
    return table
  }

  /** Every name at the top of a file, exported or not, imported ones included. */
  #declaredBy(module: Module): Table {
    const table: Table = new Map()
    for (const statement of module.statements) {
      if (statement.type === 'ImportDeclaration') {
        for (const { local, imported } of specifiers(statement))
          table.set(nameOf(local), this.#taken(module, statement, imported))
      }
      // Overloads, and an interface with its constant, are one name with several declarations.
      for (const name of namesIn(statement))
        table.set(name, [table.get(name), plain(module, statement)].filter(Boolean).join('\n'))
    }
    return table
  }

  /** What an import or re-export takes from another file: one name, or everything for `* as name`. */
  #taken(module: Module, statement: Node, name: Node | undefined): string {
    const table = this.#source(module, statement)
    if (table === undefined) return plain(module, statement)
    return name === undefined ? print(table) : (table.get(nameOf(name)) ?? NOWHERE)
  }

  /** The exports of the file that a statement names, undefined for a package. */
  #source({ path }: Module, statement: Node): Table | undefined {
    const from = String((statement.source as Node).value)
    if (!from.startsWith('.')) return undefined
    return this.exportedBy(posix.join(posix.dirname(path), from).replace(/\.[jt]s$/, '.d.ts'))
  }
}

function print(table: Table): string {
  const names = [...table.keys()].sort()
  return names.map((name) => withName(name, table.get(name) ?? NOWHERE)).join('\n\n')
}

/** A declaration that is exported under another name than its own says so. */
function withName(name: string, text: string): string {
  return text.split(/[^\w$]+/).includes(name) ? text : `// as ${name}\n${text}`
}

/** The text of a statement without comments and private members, and without the lines that held nothing else. */
function plain({ text, comments }: Module, statement: Node): string {
  const cuts = [...comments, ...privateMembers(statement)].sort((a, b) => a.start - b.start)
  let from = statement.start
  let out = ''
  for (const cut of cuts) {
    if (cut.start < from || cut.end > statement.end) continue
    out += text.slice(from, cut.start)
    from = cut.end
  }
  out += text.slice(from, statement.end)
  return out.replace(/^[ \t]*\n/gm, '').replace(/[ \t]+$/gm, '')
}

/** What nobody can name. A private constructor stays: it says that nobody can call it. */
function privateMembers(statement: Node): readonly Node[] {
  const declaration = (statement.declaration ?? statement) as Node
  if (declaration.type !== 'ClassDeclaration') return []
  const { body } = declaration.body as unknown as { body: readonly Node[] }
  return body.filter(({ accessibility, kind, key }) => {
    return (
      kind !== 'constructor' && (accessibility === 'private' || (key as Node | undefined)?.type === 'PrivateIdentifier')
    )
  })
}

interface Specifier {
  readonly local: Node
  readonly imported?: Node
  readonly exported: Node
}

function specifiers(statement: Node): readonly Specifier[] {
  return (statement.specifiers ?? []) as readonly Specifier[]
}

/** The names that a declaration statement declares. */
function namesIn(statement: Node): string[] {
  const declaration = (statement.declaration ?? statement) as Node
  const several = declaration.declarations as readonly Node[] | undefined
  return (several ?? [declaration]).flatMap(({ id }) => (id ? [nameOf(id as Node)] : []))
}

function nameOf(node: Node): string {
  return String(node.name ?? node.value)
}
