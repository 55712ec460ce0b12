// What ten thousand of them cost while nobody calls.
import { fileURLToPath } from 'node:url'
import { rows } from '../idle/rows.mjs'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns } from '../lib/report.mjs'

const COUNT = 10_000
const child = fileURLToPath(new URL('../idle/child.mjs', import.meta.url))

const columns = [
  ['row', (row) => row.name],
  ['bytes each', (row) => row.bytesPerOp.toFixed(0)],
  ['live timers', (row) => String(row.timers)],
  ['idle CPU', (row) => `${(row.idleCpu * 100).toFixed(1)}%`],
  ['spread', (row) => `${(row.spread * 100).toFixed(0)}%`],
  ...budgetColumns,
]

export const idle = {
  name: 'idle',
  about: 'ten thousand breakers or pipelines that nobody calls: bytes, timers, idle CPU',
  columns: [...columns.slice(0, 1), ['us to make', (row) => (row.nsPerOp / 1000).toFixed(1)], ...columns.slice(1)],
  markdown: columns,
  names: rows.map(({ name }) => name),

  async run(names, { node, floodwall, processes = 5 }, progress) {
    const measure = (name, what) => {
      const order = { row: name, what, count: COUNT, floodwall }
      return ask(node, ['--expose-gc', child, JSON.stringify(order)], { name })
    }
    const found = []
    for (const name of names) {
      progress(name)
      const { timers } = await measure(name, 'timers')
      const runs = []
      for (let i = 0; i < processes; i++) runs.push(await measure(name, 'bytes'))
      // There is no bare call here: `nsPerOp` is the making of one.
      const { nsPerOp, bytesPerOp, idleCpu } = medianRun(runs, 'bytesPerOp')
      found.push({
        name,
        nsPerOp,
        bareNsPerOp: null,
        ratio: null,
        bytesPerOp,
        turns: null,
        spread: spread(runs.map((run) => run.bytesPerOp)),
        timers,
        idleCpu,
      })
    }
    return found
  },
}
