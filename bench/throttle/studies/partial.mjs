// A target that fails a share of the calls, at random, for a minute. What share passes?
import { contenders } from '../contenders.mjs'
import { drive } from '../drive.mjs'
import { least, percent } from '../report.mjs'

const names = Object.keys(contenders)
const MINUTE_MS = 60_000

export const partial = {
  name: 'failing',
  seeds: 20,
  contenders: names,
  rows: [0, 0.05, 0.2, 0.5, 0.6, 0.8].flatMap((failing) =>
    [0.5, 10, 100, 1000].map((perSecond) => ({
      name: `failing: ${failing * 100} %, ${perSecond}/s`,
      failing,
      perSecond,
    })),
  ),

  measure({ failing, perSecond }, make, seed, { seeded }) {
    let asked = 0
    let passed = 0
    drive(make(seed), seeded, {
      perSecond,
      seed,
      untilMs: perSecond < 1 ? 20 * MINUTE_MS : MINUTE_MS,
      target: (_, dice) => (dice() < failing ? 'failure' : 'success'),
      seen(_, verdict) {
        asked++
        if (verdict !== undefined) passed++
      },
    })
    return { passes: passed / asked }
  },

  tables: [names.map((name) => [name, (line) => least(line.of(name), 'passes', percent)])],
}
