// Rate limits of one and of a million keys, beside others: what a decision adds to a loop, what a key weighs, how long the longest pause is.
import { fileURLToPath } from 'node:url'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { markdown, table } from '../lib/report.mjs'
import { sections } from '../limits/report.mjs'
import { rows } from '../limits/rows.mjs'
import { writeRows } from '../throttle/report.mjs'

const WITHIN_MS = 600_000
const child = fileURLToPath(new URL('../limits/child.mjs', import.meta.url))

/** What is judged of each part. Weights, and what happens in virtual time, are the same in each process. */
const fields = { bytes: 'bytesPerOp', pauses: 'pauseMs', pace: 'deviation' }
const fieldOf = ({ part }) => fields[part] ?? 'addedNs'
const isExact = ({ part }) => part === 'bytes' || part === 'pace'

export const limits = {
  name: 'limits',
  about: 'rate limits of one and of a million keys, hot parameters and keys, beside others: decisions, bytes, pauses',
  names: rows.map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 25, processes = 5 }, progress) {
    const wanted = rows.filter(({ name }) => names.includes(name))
    const runs = new Map(wanted.map(({ name }) => [name, []]))
    for (let i = 1; i <= processes; i++) {
      for (const row of wanted.filter((one) => i === 1 || !isExact(one))) {
        const { name } = row
        progress(`process ${i} of ${processes}: ${name}`)
        const order = JSON.stringify({ row: name, rounds, floodwall })
        const found = await ask(node, ['--expose-gc', child, order], { name, withinMs: WITHIN_MS })
        runs.get(name).push({ ...found, addedNs: found.nsPerOp - found.bareNsPerOp })
      }
    }
    return wanted.map((row) => sumUp(row, runs.get(row.name)))
  },

  show(found, asMarkdown) {
    const print = asMarkdown ? markdown : table
    return sections(found)
      .map(([list, columns]) => print(list, columns))
      .join('\n')
  },

  writeJson(file, suite, node, found) {
    const valuesOf = ({ addedNs, pauseMs, grants, perSecond, deviationMs }) => ({
      ...{ addedNs, pauseMs, grants, perSecond, deviationMs },
    })
    writeRows(
      file,
      suite,
      node,
      found.map((row) => ({ ...row, values: valuesOf(row) })),
    )
  },
}

function sumUp(row, all) {
  const field = fieldOf(row)
  return {
    ...medianRun(all, field),
    name: row.name,
    part: row.part,
    column: row.column,
    contender: row.contender?.name,
    spread: spread(all.map((run) => run[field])),
    noisy: all.filter((run) => run.noisy).length > all.length / 2,
  }
}
