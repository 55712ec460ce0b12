// Four classes at four times the load: the top one is 0.4 of what can be done.
import { least, most, percent } from '../../../throttle/report.mjs'
import { contenders } from '../contenders.mjs'
import { furnish, worlds } from '../worlds.mjs'

const MIX = { criticalPlus: 0.1, critical: 0.2, sheddablePlus: 0.35, sheddable: 0.35 }
const names = Object.keys(contenders)

export const classes = {
  name: 'classes',
  seeds: 20,
  contenders: names,
  rows: Object.keys(worlds).map((world) => ({ name: `${world}, classes`, world })),

  async measure({ world: name }, layers, seed, library) {
    const { perMs } = await furnish(library, name, { seed, layers: [], loads: [{ from: 0, load: 1 }] })
    const loads = [
      { from: 0, load: 0.6 },
      { from: 400 / perMs, load: 4 },
    ]
    const { world, guard, clients } = await furnish(library, name, { seed, layers, loads, mix: MIX })
    world.run(1200 / perMs)
    world.forget()
    world.run(4000 / perMs)
    const shares = clients.map((group) => {
      const { success, begun, pending } = group.report()
      return success / Math.max(1, begun - pending)
    })
    const { inversions = 0 } = guard.inspect().layers[0] ?? {}
    return { top: shares[0], second: shares[1], third: shares[2], last: shares[3], inversions: inversions / 16_000 }
  },

  tables: [
    ['top', 'second', 'third', 'last']
      .map((field) => [field, ({ of }) => least(of('overload'), field, percent)])
      .concat([
        ['inversions', ({ of }) => most(of('overload'), 'inversions', (x) => `${(x * 100).toFixed(3)} %`)],
        ['top, with nothing', ({ of }) => least(of('nothing'), 'top', percent)],
        ['top, with a fixed limit', ({ of }) => least(of('fixed limit 8'), 'top', percent)],
      ]),
  ],
}
