// What a breaker pays for judging a result, by what it judges with. The time is given: what the clock costs comes on top.
import { fileURLToPath } from 'node:url'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns } from '../lib/report.mjs'
import { rows, traffic } from '../trips/rows.mjs'

const child = fileURLToPath(new URL('../trips/child.mjs', import.meta.url))
const kinds = Object.keys(traffic)

const columns = [
  ['row', (row) => row.name],
  ...kinds.map((kind) => [kind, (row) => `${row.of[kind].nsPerOp.toFixed(1)} ns`]),
  ['of a bare call', (row) => `${row.ratio.toFixed(2)}x`],
  ['spread', (row) => `${(row.spread * 100).toFixed(0)} %`],
  ['noise', (row) => (row.noisy ? 'noisy' : '')],
  ...budgetColumns,
]

export const trips = {
  name: 'trips',
  about: 'what recording one result costs, by trip, without the clock',
  columns,
  // Nanoseconds, since the budget is one; the bare call beside them says which machine it was.
  markdown: columns.filter(([title]) => title !== 'noise'),
  names: rows.map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 25, processes = 5 }, progress) {
    const runs = new Map(names.map((name) => [name, Object.fromEntries(kinds.map((kind) => [kind, []]))]))
    for (let i = 1; i <= processes; i++) {
      for (const name of names) {
        for (const kind of kinds) {
          progress(`process ${i} of ${processes}: ${name}, ${kind}`)
          const order = { row: name, traffic: kind, rounds, floodwall }
          runs.get(name)[kind].push(await ask(node, [child, JSON.stringify(order)], { name }))
        }
      }
    }
    return names.map((name) => row(name, runs.get(name)))
  },
}

/** The traffic that costs more is the row. */
function row(name, runs) {
  const of = Object.fromEntries(kinds.map((kind) => [kind, medianRun(runs[kind], 'nsPerOp')]))
  const [worse] = kinds.toSorted((a, b) => of[b].nsPerOp - of[a].nsPerOp)
  const { nsPerOp, bareNsPerOp, ratio } = of[worse]
  const all = runs[worse]
  return {
    name,
    nsPerOp,
    bareNsPerOp,
    ratio,
    of,
    spread: spread(all.map((run) => run.nsPerOp)),
    noisy: all.filter((run) => run.noisy).length > all.length / 2,
  }
}
