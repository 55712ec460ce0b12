// What retries add to the load of a target that is down, over several levels, and what hedges add and save: all in virtual time, the
// same on every machine.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ask } from '../lib/children.mjs'
import { markdown, table } from '../lib/report.mjs'
import { studies } from '../retry/studies.mjs'
import { valuesOf, writeRows } from '../throttle/report.mjs'

const WITHIN_MS = 600_000
const child = fileURLToPath(new URL('../retry/child.mjs', import.meta.url))

export const retry = {
  name: 'retry',
  about:
    'load on a target that is down, by depth of the chain, and after it is back; hedges on a slow endpoint (virtual time)',
  names: studies.flatMap(({ rows }) => rows).map(({ name }) => name),

  async run(names, { node, floodwall }, progress) {
    const lines = studies.flatMap((study) =>
      study.rows.filter(({ name }) => names.includes(name)).map((row) => ({ study, row, runs: {} })),
    )
    const jobs = lines.flatMap((line) => Object.keys(line.study.contenders).map((contender) => ({ line, contender })))
    const worker = async () => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
        const { line, contender } = job
        const { name } = line.row
        progress(`${name}: ${contender}`)
        const order = JSON.stringify({ study: line.study.name, row: name, contender, floodwall })
        line.runs[contender] = await ask(node, [child, order], { name: `${name}, ${contender}`, withinMs: WITHIN_MS })
      }
    }
    await Promise.all(Array.from({ length: availableParallelism() }, worker))
    return lines.map(({ study, row, runs }) => ({
      ...row,
      study: study.name,
      of: (contender) => runs[contender],
      values: Object.fromEntries(Object.entries(runs).map(([contender, found]) => [contender, valuesOf(found)])),
    }))
  },

  show(rows, asMarkdown) {
    const print = asMarkdown ? markdown : table
    const nameColumn = ['row', (row) => row.name]
    return studies
      .flatMap(({ name, tables }) => tables.map((columns) => [rows.filter(({ study }) => study === name), columns]))
      .filter(([list]) => list.length > 0)
      .map(([list, columns]) => print(list, [nameColumn, ...columns]))
      .join('\n')
  },

  writeJson: writeRows,
}
