// How many calls a second the simulator gets through: the CPU time of a process over the calls that its world made. The
// history of a world is the same in every process, or the suite fails.
import { fileURLToPath } from 'node:url'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns } from '../lib/report.mjs'
import { rows } from '../simulator/rows.mjs'

const child = fileURLToPath(new URL('../simulator/child.mjs', import.meta.url))

const columns = [
  ['row', (row) => row.name],
  ['calls/s', (row) => (Math.round(1e6 / row.nsPerOp) * 1000).toLocaleString('en')],
  ['spread', (row) => `${(row.spread * 100).toFixed(0)}%`],
  ['history', (row) => row.digest],
  ...budgetColumns,
]

export const simulator = {
  name: 'simulator',
  about: 'calls a second of CPU in virtual time, through no layers and through several',
  columns,
  markdown: columns,
  names: rows.map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 5, processes = 3 }, progress) {
    const runs = new Map(names.map((name) => [name, []]))
    for (let i = 1; i <= processes; i++) {
      for (const name of names) {
        progress(`process ${i} of ${processes}: ${name}`)
        const order = { row: name, rounds, floodwall }
        runs.get(name).push(await ask(node, [child, JSON.stringify(order)], { name }))
      }
    }
    return names.map((name) => row(name, runs.get(name)))
  },
}

function row(name, runs) {
  const digests = [...new Set(runs.map(({ digest }) => digest))]
  if (digests.length > 1) throw new Error(`${name}: processes had several histories: ${digests.join(', ')}`)
  const { nsPerOp, digest } = medianRun(runs, 'nsPerOp')
  const none = { bareNsPerOp: null, ratio: null, bytesPerOp: null, turns: null }
  return { name, nsPerOp, ...none, digest, spread: spread(runs.map((run) => run.nsPerOp)) }
}
