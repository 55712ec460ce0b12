// One endpoint of five is slow, or now and then each of them. What does a second attempt save, and what does it cost?
import { most, percent } from '../../throttle/report.mjs'

const WARM_S = 60
const RUN_S = 120
const RATE = 200

const AMPLE = { ratio: 1, minimum: 1_000_000 }

/** @type {Readonly<Record<string, { layers(library: any): readonly any[] }>>} */
const contenders = {
  none: { layers: () => [] },
  'hedge p95': { layers: ({ hedge }) => [hedge({ after: 'p95' })] },
  'hedge p95, budget 5 %': { layers: ({ hedge }) => [hedge({ after: 'p95', budget: { ratio: 0.05 } })] },
  'hedge 50 ms': { layers: ({ hedge }) => [hedge({ after: '50ms' })] },
  'hedge 50 ms, no budget': { layers: ({ hedge }) => [hedge({ after: '50ms', budget: AMPLE })] },
}
const names = Object.keys(contenders)

const conditions = [
  { name: 'one of five is 10 times slower, round robin', slow: [10], picker: 'roundRobin' },
  { name: 'one of five is 10 times slower, two choices', slow: [10], picker: 'powerOfChoices' },
  { name: 'a long tail at all of them, two choices', slow: [], picker: 'powerOfChoices', tail: 400 },
  { name: 'all are 10 times slower, two choices', slow: [10, 10, 10, 10, 10], picker: 'powerOfChoices' },
]

export const hedging = {
  name: 'hedging',
  seeds: () => 20,
  contenders,
  rows: conditions,

  async measure({ slow, picker, tail }, { layers }, seed, library) {
    const { World, Server, Fleet, Clients, poisson, lognormal } = await library.part('simulator')
    const world = new World({ seed })
    const servers = [1, 2, 3, 4, 5].map((n) => {
      const factor = slow[n - 1]
      const faults = factor === undefined ? [] : [{ from: WARM_S * 1000, slow: factor }]
      const service = lognormal({ median: '10ms', p99: tail ?? '40ms' })
      return new Server(world, `stock ${n}`, { service, workers: 200, faults })
    })
    const fleet = new Fleet(servers)
    const through = [...layers(library), library.balance({ endpoints: fleet.endpoints, picker })]
    const clients = new Clients(world, 'shop', { to: fleet, through, arrivals: poisson(RATE) })
    world.run((WARM_S + 10) * 1000)
    world.forget()
    world.run(RUN_S * 1000)
    const { latency, begun } = clients.report()
    const arrived = servers.reduce((sum, server) => sum + server.report().arrived, 0)
    return { p50: latency.p50, p99: latency.p99, p999: latency.p999, extra: arrived / begun - 1 }
  },

  tables: [
    names.map((name) => [`${name}: p99`, (line) => most(line.of(name), 'p99', ms)]),
    names.map((name) => [`${name}: p99.9`, (line) => most(line.of(name), 'p999', ms)]),
    names.map((name) => [`${name}: load`, (line) => most(line.of(name), 'extra', share)]),
  ],
}

const ms = (value) => `${value.toFixed(0)} ms`
const share = (value) => `+${percent(Math.max(0, value))}`
