// A throttle and its peers in closed loop, in virtual time: the figures are the same on every machine. And what a decision costs.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns, callColumns, markdown, table } from '../lib/report.mjs'
import { rows as costRows, idleRows } from '../throttle/cost/rows.mjs'
import { valuesOf, writeRows } from '../throttle/report.mjs'
import { studies } from '../throttle/studies.mjs'

const WITHIN_MS = 600_000
const COUNT = 10_000
const studyChild = fileURLToPath(new URL('../throttle/child.mjs', import.meta.url))
const costChild = fileURLToPath(new URL('../throttle/cost/child.mjs', import.meta.url))

const nameColumn = ['row', (row) => row.name]
const costColumns = callColumns.filter(([title]) => title !== '+B' && title !== '+turns')
const costMarkdown = [
  nameColumn,
  ['ratio', (row) => `${row.ratio.toFixed(2)}x`],
  ['spread', (row) => `${(row.spread * 100).toFixed(0)} %`],
  ...budgetColumns,
]
const idleColumns = [nameColumn, ['bytes each', (row) => row.bytesPerOp.toFixed(0)], ...budgetColumns]

export const throttle = {
  name: 'throttle',
  about: 'a throttle over outages, failures and overload, beside others (virtual time); what a decision costs',
  names: [...studies.flatMap(({ rows }) => rows), ...costRows, ...idleRows].map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 25, processes = 5 }, progress) {
    const isWanted = ({ name }) => names.includes(name)
    const found = await inVirtualTime(isWanted, { node, floodwall }, progress)
    const order = (row) => JSON.stringify({ row, rounds, count: COUNT, floodwall })
    const measure = (name) => ask(node, ['--expose-gc', costChild, order(name)], { name })
    for (const { name } of costRows.filter(isWanted)) {
      const all = []
      for (let i = 1; i <= processes; i++) {
        progress(`process ${i} of ${processes}: ${name}`)
        all.push(await measure(name))
      }
      const noisy = all.filter((run) => run.noisy).length > all.length / 2
      found.push({ name, ...medianRun(all, 'ratio'), spread: spread(all.map(({ ratio }) => ratio)), noisy })
    }
    for (const { name } of idleRows.filter(isWanted)) {
      progress(name)
      found.push({ name, ...(await measure(name)), idle: true })
    }
    return found
  },

  show(rows, asMarkdown) {
    const print = asMarkdown ? markdown : table
    const sections = [
      ...studies.flatMap(({ name, tables }) =>
        tables.map((columns) => [rows.filter(({ study }) => study === name), [nameColumn, ...columns]]),
      ),
      [rows.filter(({ nsPerOp }) => nsPerOp !== undefined), asMarkdown ? costMarkdown : costColumns],
      [rows.filter(({ idle }) => idle), idleColumns],
    ]
    return sections
      .filter(([list]) => list.length > 0)
      .map(([list, columns]) => print(list, columns))
      .join('\n')
  },

  writeJson: writeRows,
}

/** Nothing is timed here, so as many processes run as there are cores. */
async function inVirtualTime(isWanted, { node, floodwall }, progress) {
  const lines = studies.flatMap((study) => study.rows.filter(isWanted).map((row) => ({ study, row, runs: {} })))
  const jobs = lines.flatMap((line) => line.study.contenders.map((contender) => ({ line, contender })))
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { line, contender } = job
      const { name } = line.row
      const order = { study: line.study.name, row: name, contender, floodwall }
      progress(`${name}: ${contender}`)
      line.runs[contender] = await ask(node, [studyChild, JSON.stringify(order)], {
        name: `${name}, ${contender}`,
        withinMs: WITHIN_MS,
      })
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return lines.map(({ study, row, runs }) => ({
    ...row,
    study: study.name,
    of: (contender) => runs[contender],
    values: Object.fromEntries(Object.entries(runs).map(([contender, found]) => [contender, valuesOf(found)])),
  }))
}
