// The last service of a chain is gone, and every level above it retries. How many requests reach it for each that anybody wanted?
import { most } from '../../throttle/report.mjs'
import { chain } from '../chain.mjs'
import { contenders } from '../contenders.mjs'

const DOWN_S = 60
const RATE = 100
/** What came before the fault could be worth a burst of retries: seen in a second world, which was well for so long. */
const WELL_S = 20
const SPAN_S = 5
/** Spans are looked at from each of these steps on. */
const STEP_MS = 500

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
    const live = (wellS) => {
      const world = new World({ seed, bucket: STEP_MS })
      const faults = [{ from: wellS * 1000, ...fault }]
      const last = new Server(world, 'last', { service: fixed('5ms'), workers: 10_000, faults })
      const layers = () => [retry(library)]
      const to = chain(library, { depth, layers, last, told, world })
      new Clients(world, 'clients', { to, through: layers(), arrivals: poisson(RATE) })
      const report = world.run((wellS + DOWN_S) * 1000)
      const [wanted, arrived] = [report.clients.clients.series.begun, report.servers.last.series.arrived]
      const load = (fromS, untilS) => sum(arrived, fromS, untilS) / sum(wanted, fromS, untilS)
      return { load, span: (fromS) => load(fromS, fromS + SPAN_S) }
    }
    const after = live(WELL_S)
    const starts = Array.from(
      { length: ((DOWN_S - 2 * SPAN_S) * 1000) / STEP_MS },
      (_, i) => WELL_S + (i * STEP_MS) / 1000,
    )
    return { load: live(0).load(0, DOWN_S), burst: after.span(WELL_S), span: Math.max(...starts.map(after.span)) }
  },

  tables: [
    names.flatMap((name) => [
      [name, (line) => most(line.of(name), 'load', times)],
      ['first 5 s', (line) => most(line.of(name), 'burst', times)],
      ['any 5 s', (line) => most(line.of(name), 'span', times)],
    ]),
  ],
}

const sum = (counts, fromS, untilS) =>
  counts.slice((fromS * 1000) / STEP_MS, (untilS * 1000) / STEP_MS).reduce((a, b) => a + b, 0)
const times = (ratio) => `${(Math.ceil(ratio * 100 - 1e-9) / 100).toFixed(2)}x`
