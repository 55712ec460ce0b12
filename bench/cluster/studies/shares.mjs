// How many of the calls go to one bad endpoint of ten, while it is bad?
import { contenders } from '../contenders.mjs'
import { Endpoint } from '../endpoint.mjs'
import { both, percent } from '../report.mjs'
import { Run } from '../run.mjs'

const ENDPOINTS = 10
const WELL_MS = 10_000
const END_MS = 70_000

const faults = {
  'fails at once': [1, 'fast'],
  'fails as slowly as the others answer': [1, 'equal'],
  'times out': [1, 'slow'],
  'half of its calls fail': [0.5, 'equal'],
}

const names = [
  'plain round robin',
  'round robin alone',
  'two choices alone',
  'least loaded alone',
  'weighted alone',
  'floodwall',
]

export const shares = {
  name: 'bad endpoint',
  contenders: names,
  rows: Object.entries(faults).flatMap(([title, fault]) =>
    [100, 1000].map((perSecond) => ({ name: `bad endpoint: ${title}, ${perSecond}/s`, fault, perSecond })),
  ),

  async measure({ fault, perSecond }, contender, seed, library) {
    const run = new Run(library, seed)
    const endpoints = Array.from({ length: ENDPOINTS }, (_, i) => new Endpoint(run.world, run.random(i)))
    const fleet = await contenders[contender](library, run.scene(endpoints))
    run.flow(perSecond, END_MS, () => fleet.send(() => {}))
    await run.until(WELL_MS, fleet)
    const before = endpoints.map((e) => e.calls)
    const [sick] = endpoints
    sick.break(...fault)
    await run.until(END_MS, fleet)
    run.end()
    const sent = endpoints.map((e, i) => e.calls - before[i])
    return { share: sent[0] / sent.reduce((a, b) => a + b) }
  },

  columns: names.map((name) => [name, (line) => both(line.of(name), 'share', percent)]),
}
