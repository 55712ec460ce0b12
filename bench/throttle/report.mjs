// Cells: the mean over the seeds, and in brackets the worst of them. Worst is least or most, as the figure has it.
import { writeFileSync } from 'node:fs'
import { round } from '../lib/numbers.mjs'

const mean = (runs, field) => runs.reduce((sum, run) => sum + run[field], 0) / runs.length

const cell = (runs, field, worst, text) => {
  const [usual, other] = [text(mean(runs, field)), text(worst(...runs.map((run) => run[field])))]
  return usual === other ? usual : `${usual} (${other})`
}

export const least = (runs, field, text) => cell(runs, field, Math.min, text)
export const most = (runs, field, text) => cell(runs, field, Math.max, text)

/** Rounded down: 99.96 % is not all. */
export const percent = (share) => `${(Math.floor(share * 1000) / 10).toFixed(share === 1 ? 0 : 1)} %`
export const tenths = (value) => value.toFixed(value < 9.95 ? 2 : 1)
export const whole = (value) => value.toFixed(0)

/** Mean and both ends of each field, by contender. */
export function valuesOf(runs) {
  const of = (field) => runs.map((run) => run[field])
  return Object.fromEntries(
    Object.keys(runs[0]).map((field) => [
      field,
      { mean: mean(runs, field), least: Math.min(...of(field)), most: Math.max(...of(field)) },
    ]),
  )
}

/** The fields of the other suites, and `values`: what was found, by contender, in units that their names tell. */
export function writeRows(file, suite, node, rows) {
  const kept = rows.map(({ name, values, ...row }) => ({
    name,
    nsPerOp: round(row.nsPerOp, 2),
    bareNsPerOp: round(row.bareNsPerOp, 2),
    ratio: round(row.ratio, 3),
    bytesPerOp: round(row.bytesPerOp, 1),
    turns: null,
    spread: round(row.spread, 3),
    ...(values === undefined ? {} : { values }),
  }))
  writeFileSync(file, `${JSON.stringify({ suite, node, rows: kept }, null, 2)}\n`)
}
