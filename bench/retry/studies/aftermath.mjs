// A trigger comes and goes. Does the load go with it?
import { most } from '../../throttle/report.mjs'
import { chain } from '../chain.mjs'
import { contenders } from '../contenders.mjs'

const RATE = 80
const FROM_S = 20
const UNTIL_S = 40
const END_S = 100
/** Load is looked at in steps of this, and must stay down from then on. */
const STEP_MS = 500
const BACK = 1.05

const names = Object.keys(contenders)
const triggers = [
  { what: 'everything fails', fault: { errors: 1, errorsTake: 5 } },
  { what: 'ten times slower', fault: { slow: 10 } },
  { what: 'nothing answers', fault: { hangs: 1 } },
]

export const aftermath = {
  name: 'aftermath',
  seeds: ({ few }) => (few ? 3 : 20),
  contenders,
  rows: triggers.flatMap(({ what, fault }) =>
    [1, 3, 5].map((depth) => ({ name: `${what}, depth ${depth}`, depth, fault })),
  ),

  async measure({ depth, fault }, { told, retry }, seed, library) {
    const { World, Server, Clients, poisson, exponential } = await library.part('simulator')
    const { timeout } = library
    const world = new World({ seed, bucket: STEP_MS })
    const last = new Server(world, 'last', {
      service: exponential('100ms'),
      workers: 10,
      queue: 50,
      faults: [
        { from: FROM_S * 1000, ...fault },
        { from: UNTIL_S * 1000, well: true },
      ],
    })
    // Those further out wait for longer than those further in.
    const layers = (level) => [retry(library), timeout({ after: `${depth - level + 1}s` })]
    const to = chain(library, { depth, layers, last, told, world })
    new Clients(world, 'clients', { to, through: layers(1), arrivals: poisson(RATE) })
    const report = world.run(END_S * 1000)
    const [wanted, arrived] = [report.clients.clients.series.begun, report.servers.last.series.arrived]
    const load = (fromS, untilS) => sum(arrived, fromS, untilS) / sum(wanted, fromS, untilS)
    return { peak: peakOf(arrived), during: load(FROM_S, UNTIL_S), backMs: backAfter(load) }
  },

  tables: [
    names.flatMap((name) => [
      [`${name}: peak`, (line) => most(line.of(name), 'peak', times)],
      ['back after', (line) => most(line.of(name), 'backMs', back)],
    ]),
  ],
}

const sum = (counts, fromS, untilS) =>
  counts.slice((fromS * 1000) / STEP_MS, (untilS * 1000) / STEP_MS).reduce((a, b) => a + b, 0)

/** The most requests in a second, in times of what is wanted in a second. */
function peakOf(arrived) {
  const per = 1000 / STEP_MS
  const seconds = arrived.slice(per - 1).map((_, i) => arrived.slice(i, i + per).reduce((a, b) => a + b, 0))
  return Math.max(...seconds) / RATE
}

/** From when on the load of every 5 s is at most 1.05 of what is wanted. */
function backAfter(load) {
  for (let afterS = 0; UNTIL_S + afterS + 5 <= END_S; afterS += STEP_MS / 1000) {
    const starts = Array.from({ length: 20 }, (_, i) => UNTIL_S + afterS + i * (STEP_MS / 1000)).filter(
      (s) => s + 5 <= END_S,
    )
    if (starts.every((from) => load(from, from + 5) <= BACK)) return afterS * 1000
  }
  return Number.POSITIVE_INFINITY
}

const times = (ratio) => `${ratio.toFixed(2)}x`
const back = (ms) => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never')
