import { parse } from '../architecture/source.ts'

export interface Snippet {
  /** The document, and the line of it that holds the first line of code. */
  readonly file: string
  readonly line: number
  readonly code: string
  /** False for a fence that says `ts no-run`: it is compiled only. */
  readonly runs: boolean
}

const FENCE = /^(\s*)(`{3,})\s*(\S*)\s*(.*)$/

/** The TypeScript fences of a Markdown document. */
export function snippetsIn(file: string, text: string): Snippet[] {
  const found: Snippet[] = []
  let open: { indent: string; ticks: string; language: string; info: string; line: number } | undefined
  let code: string[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [, indent = '', ticks = '', language = '', info = ''] = FENCE.exec(line) ?? []
    if (open === undefined) {
      if (ticks !== '') open = { indent, ticks, language, info: info.trim(), line: index + 2 }
      code = []
    } else if (ticks.length >= open.ticks.length && language === '') {
      if (open.language === 'ts') {
        const at = `${file}:${open.line - 1}`
        if (open.info !== '' && open.info !== 'no-run')
          throw new Error(`${at} a ts fence may say 'no-run', not '${open.info}'`)
        found.push({ file, line: open.line, code: code.join('\n'), runs: open.info === '' })
      }
      open = undefined
    } else {
      // In a list the code is indented like its fence.
      code.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line)
    }
  }
  if (open !== undefined) throw new Error(`${file}:${open.line - 1} the fence is not closed`)
  return found
}

/** Where two translations of a document show different code. Comments may be translated. */
export function differences(one: readonly Snippet[], other: readonly Snippet[]): string[] {
  const found: string[] = []
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    const [a, b] = [one[i], other[i]]
    if (a === undefined || b === undefined) found.push(`${place(a ?? b)} has no counterpart`)
    else if (bare(a) !== bare(b)) found.push(`${place(a)} and ${place(b)} differ`)
    else if (a.runs !== b.runs) found.push(`${place(a)} and ${place(b)}: only one of them runs`)
  }
  return found
}

export function place(snippet: Snippet | undefined): string {
  return snippet === undefined ? '' : `${snippet.file}:${snippet.line}`
}

/** The code without comments and without the space that they leave. */
function bare({ code }: Snippet): string {
  let comments: readonly { start: number; end: number }[]
  try {
    comments = parse({ path: 'snippet.ts', text: code }).comments
  } catch {
    // It will not compile either, and that failure says more.
    return code
  }
  let from = 0
  let out = ''
  for (const { start, end } of comments) {
    out += code.slice(from, start)
    from = end
  }
  return `${out}${code.slice(from)}\n`
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .replace(/^\n/, '')
}
