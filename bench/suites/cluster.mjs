// Several endpoints: what a bad one costs, how soon it is out, how all come back, and what a choice costs. Virtual
// time shows the first three, so their figures are the same on every machine; loopback repeats the sign of one of
// them.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { rows as costRows } from '../cluster/cost/rows.mjs'
import { loopbackRows } from '../cluster/loopback/rows.mjs'
import { valuesOf, whole, writeRows } from '../cluster/report.mjs'
import { studies } from '../cluster/studies.mjs'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns, callColumns, markdown, table } from '../lib/report.mjs'

const SEEDS = 20
/** A row of 1000 calls a second takes some seconds, on a busy machine a minute. */
const WITHIN_MS = 600_000
const seedChild = fileURLToPath(new URL('../cluster/child.mjs', import.meta.url))
const loopbackChild = fileURLToPath(new URL('../cluster/loopback/child.mjs', import.meta.url))
const costChild = fileURLToPath(new URL('../cluster/cost/child.mjs', import.meta.url))

const nameColumn = ['row', (row) => row.name]
const costColumns = callColumns.filter(([title]) => title !== '+B' && title !== '+turns')
const costMarkdown = [
  nameColumn,
  ['ratio', (row) => `${row.ratio.toFixed(1)}x`],
  ['spread', (row) => `${whole(row.spread * 100)} %`],
  ...budgetColumns,
]
const loopbackColumns = [
  nameColumn,
  ['% of calls answered, by second', (row) => row.shares.map((share) => whole(share * 100)).join(' ')],
]

export const cluster = {
  name: 'cluster',
  about: 'several endpoints: a bad one, fault to isolation, all out and back, the cost of a choice',
  names: [...studies.flatMap(({ rows }) => rows), ...loopbackRows, ...costRows].map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 25, processes = 5 }, progress) {
    const isWanted = ({ name }) => names.includes(name)
    const virtual = await inVirtualTime(isWanted, { node, floodwall }, progress)
    const real = await onLoopback(loopbackRows.filter(isWanted), { node, floodwall }, progress)
    return [
      ...virtual,
      ...real,
      ...(await costs(costRows.filter(isWanted), { node, floodwall, rounds, processes }, progress)),
    ]
  },

  show(rows, asMarkdown) {
    const print = asMarkdown ? markdown : table
    const sections = [
      ...studies.map(({ name, columns }) => [rows.filter((row) => row.study === name), [nameColumn, ...columns]]),
      [rows.filter(({ shares }) => shares !== undefined), loopbackColumns],
      [rows.filter(({ nsPerOp }) => nsPerOp !== undefined), asMarkdown ? costMarkdown : costColumns],
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
  const rows = studies.flatMap(({ name: study, rows: all, contenders }) =>
    all.filter(isWanted).map((row) => ({ study, name: row.name, contenders: row.contenders ?? contenders, runs: {} })),
  )
  const jobs = rows.flatMap((row) => row.contenders.map((contender) => ({ row, contender })))
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { row, contender } = job
      const { study, name } = row
      const order = { study, row: name, contender, seeds: SEEDS, floodwall }
      progress(`${name}${row.contenders.length > 1 ? `: ${contender}` : ''}`)
      row.runs[contender] = await ask(node, [seedChild, JSON.stringify(order)], {
        name: `${name}, ${contender}`,
        withinMs: WITHIN_MS,
      })
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return rows.map(({ study, name, contenders, runs }) => ({
    study,
    name,
    of: (contender) => runs[contender],
    own: runs[contenders[0]],
    values: Object.fromEntries(contenders.map((contender) => [contender, valuesOf(runs[contender])])),
  }))
}

/** Each has servers of its own and little to do: side by side they take as long as one. */
function onLoopback(rows, { node, floodwall }, progress) {
  return Promise.all(
    rows.map(async ({ name, contender }) => {
      progress(name)
      const shares = await ask(node, [loopbackChild, JSON.stringify({ contender, floodwall })], { name })
      return { name, shares, values: { shares } }
    }),
  )
}

async function costs(rows, { node, floodwall, rounds, processes }, progress) {
  const runs = new Map(rows.map(({ name }) => [name, []]))
  for (let i = 1; i <= processes; i++) {
    for (const { name } of rows) {
      progress(`process ${i} of ${processes}: ${name}`)
      const order = { row: name, rounds, floodwall }
      runs.get(name).push(await ask(node, [costChild, JSON.stringify(order)], { name }))
    }
  }
  return rows.map(({ name }) => {
    const all = runs.get(name)
    return {
      name,
      ...medianRun(all, 'ratio'),
      spread: spread(all.map(({ ratio }) => ratio)),
      noisy: all.filter(({ noisy }) => noisy).length > all.length / 2,
    }
  })
}
