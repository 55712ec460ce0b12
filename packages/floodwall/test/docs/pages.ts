import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../../../..', import.meta.url))

/** A page of the repository; the path has forward slashes and begins at its root. */
export interface Page {
  readonly path: string
  readonly text: string
}

export function page(path: string): Page {
  return { path, text: readFileSync(join(root, path), 'utf8') }
}

/** Every page that people read: those at the root, and docs. */
export function pages(): Page[] {
  const names = [...readdirSync(root), ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)]
  return names.filter((name) => name.endsWith('.md') && existsSync(join(root, name))).map(page)
}

/** A page without its fences: what looks like a table or a link in there is none. */
export function prose({ text }: Page): string {
  return text.replace(/^( *)(`{3,})[^]*?^\1\2 *$/gm, '')
}

/** The section under a headline, up to the next one of its rank. */
export function section(from: Page, headline: string): string {
  const rank = /^#+/.exec(headline)?.[0].length ?? 1
  const lines = prose(from).split('\n')
  const start = lines.indexOf(headline)
  if (start < 0) throw new Error(`${from.path} has no section "${headline}"`)
  const rest = lines.slice(start + 1)
  const end = rest.findIndex((line) => new RegExp(`^#{1,${rank}} `).test(line))
  return (end < 0 ? rest : rest.slice(0, end)).join('\n')
}

/** The rows of the first table in a text, cell by cell, without its head. */
export function rows(text: string): string[][] {
  const table = /(?:^\|.*\n?)+/m.exec(text)?.[0] ?? ''
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.slice(1, -1).split(/(?<!\\)\|/))
    .map((cells) => cells.map((cell) => cell.trim()))
}

/** What stands in a cell as code: 'slots' for `slots`, undefined for words. */
export function codeIn(cell: string | undefined): string | undefined {
  return /^`([^`]+)`$/.exec(cell ?? '')?.[1]
}
