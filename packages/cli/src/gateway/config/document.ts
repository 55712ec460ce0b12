import type { ConfigIssue } from 'floodwall'
import { isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml'
import { Reading, Unreadable } from './reading.ts'

// A configuration file: text to plain values, and from the path of a value back to its line and column.
//
// The file may be anybody's: its size, its depth, the growth of its aliases and the names of its keys have bounds.

/** layers > layer > of > of > option > value is 8. */
const DEEPEST = 32
/** A hundred uses of anchors are a lot; a "billion laughs" needs a billion. */
const MOST_ALIASES = 100

/** A fault in a file, or on the command line. */
export interface Fault {
  /** `gateway.yaml:3:7`, or nothing for the command line. */
  readonly place?: string
  readonly text: string
}

/** Something is wrong with the configuration. Nothing was started. */
export class Misconfigured extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(faults.map(showFault).join('\n'))
    this.faults = faults
  }
}

export function showFault({ place, text }: Fault): string {
  return place === undefined ? text : `${place} ${text}`
}

/** `path: expected ..., got ...`, as in every message of floodwall. */
export function textOf({ path, expected, value }: ConfigIssue): string {
  return `${path === '' ? '(document)' : path}: expected ${expected}, got ${value}`
}

export class ConfigDocument {
  readonly value: unknown
  private readonly file: string
  private readonly root: Node | null
  private readonly lines: LineCounter

  private constructor(file: string, value: unknown, root: Node | null, lines: LineCounter) {
    this.file = file
    this.value = value
    this.root = root
    this.lines = lines
  }

  /** @throws Misconfigured */
  static read(file: string, reading: Reading = new Reading()): ConfigDocument {
    return ConfigDocument.parse(file, load(file, reading))
  }

  /** @throws Misconfigured with every fault that is there to see */
  static parse(file: string, text: string): ConfigDocument {
    const lines = new LineCounter()
    const at = (offset: number): string => placeOf(file, lines, offset)
    let document: ReturnType<typeof parseDocument>
    try {
      document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, version: '1.2' })
    } catch (error) {
      // The parser is recursive: nesting without end is the one way to make it throw.
      if (error instanceof RangeError) throw new Misconfigured([{ place: `${file}:1:1`, text: tooDeep }])
      throw error
    }
    const complaints = [...document.errors, ...document.warnings]
    if (complaints.length > 0) {
      throw new Misconfigured(complaints.map(({ message, pos }) => ({ place: at(pos[0]), text: oneLine(message) })))
    }
    const root = document.contents as Node | null
    const faults = faultsOf(root, at)
    if (faults.length > 0) throw new Misconfigured(faults)
    try {
      return new ConfigDocument(file, document.toJS({ maxAliasCount: MOST_ALIASES }), root, lines)
    } catch (error) {
      if (error instanceof ReferenceError)
        throw new Misconfigured([{ place: `${file}:1:1`, text: oneLine(error.message) }])
      throw error
    }
  }

  /** The issues with their places. */
  faults(issues: readonly ConfigIssue[]): Fault[] {
    return issues.map((issue) => ({
      place: placeOf(this.file, this.lines, this.offsetOf(issue)),
      text: textOf(issue),
    }))
  }

  /** Where the value stands, or its name when that is what is wrong; where there is neither, its parent. */
  private offsetOf({ path, expected }: ConfigIssue): number {
    const byName = expected.startsWith('no such field')
    let node: unknown = this.root
    let offset = this.root?.range?.[0] ?? 0
    let value = offset
    for (const step of path.split(/[.[\]]+/).filter((part) => part !== '')) {
      if (isSeq(node)) node = node.items[Number(step)]
      else if (isMap(node)) {
        const pair = pairOf(node, step)
        if (pair === undefined) return offset
        offset = (pair.key as Node).range?.[0] ?? offset
        node = pair.value
      } else return offset
      value = (node as Node | null)?.range?.[0] ?? offset
      if (!byName) offset = value
    }
    return byName ? offset : value
  }
}

const tooDeep = `expected at most ${DEEPEST} levels of nesting`

function load(file: string, reading: Reading): string {
  try {
    return reading.text(file)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    throw new Misconfigured([{ place: `${file}:`, text: error.message }])
  }
}

/** Faults of form: depth, and keys that every object has already and that no schema would notice. */
function faultsOf(root: Node | null, at: (offset: number) => string): Fault[] {
  const faults: Fault[] = []
  const visit = (node: unknown, depth: number): void => {
    if (depth > DEEPEST) {
      if (faults.length === 0) faults.push({ place: at((node as Node).range?.[0] ?? 0), text: tooDeep })
      return
    }
    if (isSeq(node)) for (const item of node.items) visit(item, depth + 1)
    if (!isMap(node)) return
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? key.value : undefined
      if (typeof name !== 'string' || name in Object.prototype) {
        faults.push({ place: at((key as Node).range?.[0] ?? 0), text: 'expected the name of a setting as key' })
      }
      visit(value, depth + 1)
    }
  }
  visit(root, 0)
  return faults
}

function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && String(key.value) === name)
}

function placeOf(file: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset)
  return `${file}:${Math.max(1, line)}:${Math.max(1, col)}`
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
