// Per-call costs. Each row runs in fresh processes; the rows take turns, so that a noisy minute hits all of them a little
// and none of them five times.
import { fileURLToPath } from 'node:url'
import { overruns } from '../budgets.mjs'
import { rows } from '../hot/rows.mjs'
import { ask } from '../lib/children.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { callColumns, callMarkdown } from '../lib/report.mjs'
import { flags } from '../method/bytes.mjs'

const child = fileURLToPath(new URL('../hot/child.mjs', import.meta.url))

export const hot = {
  name: 'hot',
  about: 'what a call costs: breakers, pipelines, refusals, bare gates; against the bare call and other libraries',
  columns: callColumns,
  markdown: callMarkdown,
  names: rows.map(({ name }) => name),

  async run(names, { node, floodwall, rounds = 25, processes = 5 }, progress) {
    const measure = (name, what) => {
      const order = { row: name, what, rounds, floodwall }
      return ask(node, [...(what === 'exact' ? flags : []), child, JSON.stringify(order)], { name })
    }
    const exact = new Map()
    for (const name of names) {
      progress(`bytes and turns: ${name}`)
      exact.set(name, await measure(name, 'exact'))
    }
    const timed = await time(names, processes, measure, progress)
    const found = names.map((name) => row(name, timed.get(name), exact.get(name)))

    // A noisy run can push a row over its budget. It gets one more chance, with all its processes, and says so.
    const again = found
      .filter((one) => overruns(one).some((what) => what === 'ratio' || what === 'ns'))
      .map(({ name }) => name)
    if (again.length === 0) return found
    progress(`over budget, once more: ${again.join('; ')}`)
    const second = await time(again, processes, measure, progress)
    return found.map((one) =>
      second.has(one.name) ? { ...row(one.name, second.get(one.name), exact.get(one.name)), rerun: true } : one,
    )
  },
}

async function time(names, processes, measure, progress) {
  const runs = new Map(names.map((name) => [name, []]))
  for (let i = 1; i <= processes; i++) {
    for (const name of names) {
      progress(`process ${i} of ${processes}: ${name}`)
      runs.get(name).push(await measure(name, 'time'))
    }
  }
  return runs
}

function row(name, runs, { bytesPerOp, turns }) {
  const { nsPerOp, bareNsPerOp, ratio } = medianRun(runs, 'ratio')
  return {
    name,
    nsPerOp,
    bareNsPerOp,
    ratio,
    bytesPerOp,
    turns,
    spread: spread(runs.map((run) => run.ratio)),
    noisy: runs.filter((run) => run.noisy).length > runs.length / 2,
  }
}
