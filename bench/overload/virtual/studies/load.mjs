// Goodput, latency and refusals by load.
import { least, most, percent } from '../../../throttle/report.mjs'
import { contenders } from '../contenders.mjs'
import { furnish, worlds } from '../worlds.mjs'

const LOADS = [0.8, 0.9, 1.5, 2, 4, 10]
const names = Object.keys(contenders)
const alone = new Map()

export const load = {
  name: 'load',
  seeds: 20,
  contenders: names,
  rows: Object.keys(worlds).flatMap((world) =>
    LOADS.map((times) => ({ name: `${world}, ${times} times`, world, times })),
  ),

  async measure({ world: name, times }, layers, seed, library) {
    const calm = 400
    const calls = times < 1 ? 20_000 : 4000
    const loads = (perMs) => [
      { from: 0, load: 0.6 },
      { from: calm / perMs, load: times },
    ]
    const { perMs } = await furnish(library, name, { seed, layers: [], loads: [{ from: 0, load: 1 }] })
    const { world, server, clients } = await furnish(library, name, {
      seed,
      layers,
      loads: loads(perMs),
    })
    world.run((calm + 800) / perMs)
    world.forget()
    world.run(calls / perMs)
    const { success, begun, pending, latency } = clients[0].report()
    return {
      goodput: success / calls,
      busy: server.report().utilisation,
      p99: (latency.p99 ?? 0) / (await unloaded(library, name)),
      refused: 1 - success / Math.max(1, begun - pending),
    }
  },

  tables: [
    names.map((name) => [`${name}: goodput`, ({ of }) => least(of(name), 'goodput', percent)]),
    names.map((name) => [`${name}: p99`, ({ of }) => most(of(name), 'p99', (x) => `${x.toFixed(1)}x`)]),
    names.map((name) => [`${name}: refused`, ({ of }) => most(of(name), 'refused', percentOf)]),
  ],
}

const percentOf = (share) => `${(share * 100).toFixed(2)} %`

async function unloaded(library, name) {
  if (!alone.has(name)) {
    const { world, clients, perMs } = await furnish(library, name, {
      seed: 1,
      layers: [],
      loads: [{ from: 0, load: 0.05 }],
    })
    world.run(100_000 / perMs)
    alone.set(name, clients[0].report().latency.p99)
  }
  return alone.get(name)
}
