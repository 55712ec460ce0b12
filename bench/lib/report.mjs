// What a suite found: a table for people, JSON for programs, Markdown for RESULTS.md.
import { writeFileSync } from 'node:fs'
import { verdict, wanted } from '../budgets.mjs'
import { round } from './numbers.mjs'

const figure = (value, digits, unit = '') =>
  value === null || value === undefined ? '-' : `${value.toFixed(digits)}${unit}`
const ns = (value) => figure(value, value !== null && value < 10 ? 1 : 0)

/** `columns` is a list of [title, row => text]; the first column is aligned left, the others right. */
export function table(rows, columns) {
  const cells = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, text]) => text(row)))]
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i].length)))
  const pad = (text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i]))
  const lines = cells.map((line) => line.map(pad).join('  ').trimEnd())
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '))
  return `${lines.join('\n')}\n`
}

export const budgetColumns = [
  ['budget', (row) => wanted(row.name)],
  ['', (row) => verdict(row)],
]

export const callColumns = [
  ['row', (row) => row.name],
  ['CPU ns', (row) => ns(row.nsPerOp)],
  ['bare ns', (row) => ns(row.bareNsPerOp)],
  ['ratio', (row) => figure(row.ratio, 2, 'x')],
  ['+B', (row) => figure(row.bytesPerOp, 0)],
  ['+turns', (row) => figure(row.turns, 0)],
  ['spread', (row) => figure(row.spread * 100, 0, '%')],
  ['noise', (row) => [row.noisy ? 'noisy' : '', row.rerun ? 're-run' : ''].filter(Boolean).join(' ')],
  ...budgetColumns,
]

/** Rows of a Markdown table: ratios and counts, which travel between machines; no nanoseconds, which do not. */
export function markdown(rows, columns) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  const head = [line(columns.map(([title]) => title)), line(columns.map((_, i) => (i === 0 ? '---' : '---:')))]
  return `${[...head, ...rows.map((row) => line(columns.map(([, text]) => text(row))))].join('\n')}\n`
}

export const callMarkdown = [
  ['row', (row) => row.name],
  ['ratio', (row) => (row.inRatio === false ? '-' : figure(row.ratio, 2, 'x'))],
  ['added bytes', (row) => figure(row.bytesPerOp, 0)],
  ['added turns', (row) => figure(row.turns, 0)],
  ['spread', (row) => figure(row.spread * 100, 0, '%')],
  ...budgetColumns,
]

/** The fields of a row are a contract: scripts read them. */
export function writeJson(file, suite, node, rows) {
  const kept = rows.map((row) => ({
    name: row.name,
    nsPerOp: round(row.nsPerOp, 2),
    bareNsPerOp: round(row.bareNsPerOp, 2),
    ratio: round(row.ratio, 3),
    bytesPerOp: round(row.bytesPerOp, 1),
    turns: round(row.turns, 0),
    spread: round(row.spread, 3),
  }))
  writeFileSync(file, `${JSON.stringify({ suite, node, rows: kept }, null, 2)}\n`)
}
