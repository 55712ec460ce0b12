// The last service of a chain is gone, and every level above it retries. How many requests reach it for each that anybody wanted?
import { most } from '../../throttle/report.mjs'
import { chain } from '../chain.mjs'
import { contenders } from '../contenders.mjs'

const DOWN_S = 60
const RATE = 100
/** What came before the fault is worth a burst of retries: seen in a second world, which was well for so long. */
const WELL_S = 20
const BURST_S = 5

const names = Object.keys(contenders)
const conditions = [
  { what: 'fails', fault: { errors: 1, errorsTake: 5 } },
  { what: 'refuses connections', fault: { down: true } },
]

export const amplification = {
  name: 'amplification',
  seeds: ({ few }) => (few ? 1 : 20),
  contenders,
  rows: conditions.flatMap(({ what, fault }) =>
    [1, 2, 3, 4, 5].map((depth) => ({ name: `${what}, depth ${depth}`, depth, fault })),
  ),

  async measure({ depth, fault }, { told, retry }, seed, library) {
    const { World, Server, Clients, poisson, fixed } = await library.part('simulator')
    const live = (wellS, untilS) => {
      const world = new World({ seed })
      const faults = [{ from: wellS * 1000, ...fault }]
      const last = new Server(world, 'last', { service: fixed('5ms'), workers: 10_000, faults })
      const layers = () => [retry(library)]
      const to = chain(library, { depth, layers, last, told, world })
      new Clients(world, 'clients', { to, through: layers(), arrivals: poisson(RATE) })
      const report = world.run(untilS * 1000)
      const [wanted, arrived] = [report.clients.clients.series.begun, report.servers.last.series.arrived]
      return sum(arrived.slice(wellS)) / sum(wanted.slice(wellS))
    }
    return { load: live(0, DOWN_S), burst: live(WELL_S, WELL_S + BURST_S) }
  },

  tables: [
    names.flatMap((name) => [
      [name, (line) => most(line.of(name), 'load', times)],
      ['first 5 s', (line) => most(line.of(name), 'burst', times)],
    ]),
  ],
}

const sum = (counts) => counts.reduce((a, b) => a + b, 0)
const times = (ratio) => `${(Math.ceil(ratio * 100 - 1e-9) / 100).toFixed(2)}x`
