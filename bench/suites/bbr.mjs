// What a decision of a bbr gate costs.
import { fileURLToPath } from 'node:url'
import { rows } from '../bbr/rows.mjs'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns } from '../lib/report.mjs'

const child = fileURLToPath(new URL('../bbr/child.mjs', import.meta.url))

const columns = [
  ['row', (row) => row.name],
  ['ns', (row) => row.nsPerOp.toFixed(0)],
  ['of a bare call', (row) => `${row.ratio.toFixed(2)}x`],
  ['spread', (row) => `${(row.spread * 100).toFixed(0)} %`],
  ['noise', (row) => (row.noisy ? 'noisy' : '')],
  ...budgetColumns,
]

export const bbr = {
  name: 'bbr',
  about: 'what asking a bbr gate and telling it costs, without the clock',
  columns,
  // Nanoseconds, since the budget is one; the bare call beside them says which machine it was.
  markdown: columns.filter(([title]) => title !== 'noise'),
  names: rows.map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 25, processes = 5 }, progress) {
    const found = []
    for (const name of names) {
      const all = []
      for (let i = 1; i <= processes; i++) {
        progress(`process ${i} of ${processes}: ${name}`)
        all.push(await ask(node, [child, JSON.stringify({ row: name, rounds, floodwall })], { name }))
      }
      const noisy = all.filter((run) => run.noisy).length > all.length / 2
      found.push({ name, ...medianRun(all, 'nsPerOp'), spread: spread(all.map((run) => run.nsPerOp)), noisy })
    }
    return found
  },
}
