// A server at up to ten times its load, in virtual time: the same on every machine. On loopback, beside others, and in a storm of retries; and what
// it costs.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { ask } from '../lib/children.mjs'
import { markdown, table } from '../lib/report.mjs'
import * as loopback from '../overload/loopback/rows.mjs'
import { studies } from '../overload/virtual/studies.mjs'
import { valuesOf, writeRows } from '../throttle/report.mjs'

const WITHIN_MS = 1_800_000
const child = fileURLToPath(new URL('../overload/virtual/child.mjs', import.meta.url))

export const overload = {
  name: 'overload',
  about: 'a server at up to ten times its load: virtual time; loopback, beside others (Linux); what it costs',
  names: [...studies.flatMap(({ rows }) => rows).map(({ name }) => name), ...loopback.names],

  /** `processes` is the number of seeds, and of processes for a cost. */
  async run(names, options, progress) {
    const { node, floodwall, quick, processes } = options
    const found = await inVirtualTime(names, { node, floodwall, seeds: processes ?? (quick ? 1 : undefined) }, progress)
    const real = names.filter((name) => loopback.names.includes(name))
    return real.length === 0 ? found : [...found, ...(await loopback.run(real, options, progress))]
  },

  show(rows, asMarkdown) {
    const print = asMarkdown ? markdown : table
    const nameColumn = ['row', (row) => row.name]
    const virtual = studies
      .flatMap(({ name, tables }) => tables.map((columns) => [rows.filter(({ study }) => study === name), columns]))
      .filter(([list]) => list.length > 0)
      .map(([list, columns]) => print(list, [nameColumn, ...columns]))
    return [...virtual, ...loopback.show(rows, asMarkdown)].join('\n')
  },

  /** For `--check`. */
  overruns: (row) => loopback.overruns(row),

  writeJson(file, suite, node, rows) {
    writeRows(
      file,
      suite,
      node,
      rows.map((row) => ({ ...row, values: row.values ?? loopback.valuesOf(row) })),
    )
  },
}

async function inVirtualTime(names, { node, floodwall, seeds }, progress) {
  const lines = studies.flatMap((study) =>
    study.rows.filter(({ name }) => names.includes(name)).map((row) => ({ study, row, runs: {} })),
  )
  const jobs = lines.flatMap((line) => line.study.contenders.map((contender) => ({ line, contender })))
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { line, contender } = job
      const { name } = line.row
      progress(`${name}: ${contender}`)
      const order = JSON.stringify({ study: line.study.name, row: name, contender, floodwall, seeds })
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
}
