// One table for each part: who stands in the lines, how many keys above the columns.
import { verdict, wanted } from '../budgets.mjs'
import { budgetColumns } from '../lib/report.mjs'

const percent = (share) => `${(share * 100).toFixed(0)} %`
const tenths = (value) => value.toFixed(value < 100 ? 1 : 0)
const whole = (value) => value.toFixed(0)

const spreadColumn = ['spread', (row) => percent(row.spread)]
const noiseColumn = ['noise', (row) => (row.noisy ? 'noisy' : '')]
const nameColumn = ['row', (row) => row.name]

const decision = [
  nameColumn,
  ['ns added', (row) => tenths(row.addedNs)],
  ['bare', (row) => tenths(row.bareNsPerOp)],
  spreadColumn,
  noiseColumn,
  ...budgetColumns,
]

const streamColumns = [
  nameColumn,
  ['in the first second', (row) => String(row.grants)],
  ['per second', (row) => whole(row.perSecond)],
  ['of 100,000', (row) => `${row.deviation < 0.001 ? '<0.1' : (row.deviation * 100).toFixed(1)} % off`],
  ['from its time, at most', (row) => `${row.deviationMs.toFixed(3)} ms`],
  ...budgetColumns,
]

/** One line for each contender; a cell where its row was measured. */
function pivot(rows, text) {
  const contenders = [...new Set(rows.map(({ contender }) => contender))]
  const titles = [...new Set(rows.map(({ column }) => column))]
  const cell = (found) => (found === undefined ? '' : `${text(found)}${found.noisy ? '?' : ''}`)
  const columns = titles.map((title) => [title, ({ cells }) => cell(cells.find(({ column }) => column === title))])
  const lines = contenders.map((name) => ({ name, cells: rows.filter(({ contender }) => contender === name) }))
  return [lines, [['who', (line) => line.name], ...columns]]
}

/** The same rows again, those alone that have a budget. */
function judged(rows, value) {
  const columns = [nameColumn, value, spreadColumn, ['budget', ({ name }) => wanted(name)], ['', verdict]]
  return [rows.filter(({ name }) => wanted(name) !== ''), columns]
}

/** Lists of rows, each with its columns. */
export function sections(rows) {
  const of = (part) => rows.filter((row) => row.part === part)
  return [
    [of('one'), decision],
    pivot(of('keyed'), (row) => tenths(row.addedNs)),
    judged(of('keyed'), ['ns added', (row) => tenths(row.addedNs)]),
    pivot(of('bytes'), (row) => whole(row.bytesPerOp)),
    judged(of('bytes'), ['bytes', (row) => whole(row.bytesPerOp)]),
    pivot(of('pauses'), (row) => `${row.pauseMs.toFixed(1)} ms (${whole(row.nsPerOp)} ns)`),
    [of('pace'), streamColumns],
    [of('other'), decision],
  ].filter(([list]) => list.length > 0)
}
