// Tables of the suite. A cell shows the median over the seeds and, in brackets, the worst of them.
import { writeFileSync } from 'node:fs'
import { median, round } from '../lib/numbers.mjs'

/** A number that no seed reached counts as the largest there is, and is shown as `never`. */
const orNever = (value) => value ?? Infinity

export function middle(runs, field) {
  return median(runs.map((run) => orNever(run[field])))
}

function worst(runs, field) {
  return Math.max(...runs.map((run) => orNever(run[field])))
}

/** `text` turns a number into words. */
export function both(runs, field, text) {
  const show = (value) => (Number.isFinite(value) ? text(value) : 'never')
  const [usual, most] = [middle(runs, field), worst(runs, field)].map(show)
  return usual === most ? usual : `${usual} (${most})`
}

export const percent = (share) => `${(share * 100).toFixed(share < 0.0995 ? 2 : 1)} %`
export const seconds = (ms) => `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`
export const whole = (value) => value.toFixed(0)

/** The fields of the other suites, and `values`: what was found, by contender, in units that their names tell. */
export function writeRows(file, suite, node, rows) {
  const kept = rows.map(({ name, values, ...row }) => ({
    name,
    nsPerOp: round(row.nsPerOp, 2),
    bareNsPerOp: round(row.bareNsPerOp, 2),
    ratio: round(row.ratio, 3),
    bytesPerOp: null,
    turns: null,
    spread: round(row.spread, 3),
    ...(values === undefined ? {} : { values }),
  }))
  writeFileSync(file, `${JSON.stringify({ suite, node, rows: kept }, null, 2)}\n`)
}

/** Median and worst of each field, by contender; null: never. */
export function valuesOf(runs) {
  const fields = Object.keys(runs[0]).filter((field) => !Array.isArray(runs[0][field]))
  const finite = (value) => (Number.isFinite(value) ? round(value, 5) : null)
  return Object.fromEntries(
    fields.map((field) => [field, { median: finite(middle(runs, field)), worst: finite(worst(runs, field)) }]),
  )
}
