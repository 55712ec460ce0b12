// Every endpoint is out, then they come back one by one. What is lost, and for how long?
import { contenders } from '../contenders.mjs'
import { Run } from '../run.mjs'
import { Server } from '../server.mjs'

const ENDPOINTS = 9
const NEEDED = 6
const PER_SECOND = 600
const DOWN_MS = 20_000
const UP_MS = 30_000
const EVERY_MS = 1000
const END_MS = 120_000
/** Well again: so many calls succeed, in each second of five. */
const WELL = 0.95
const IN_A_ROW = 5

const lists = [
  'recovery q/n',
  'recovery q/n, no ramp',
  'recovery q/kn, k 1.5',
  'recovery q/n, looks each second',
  'isolation without recovery',
  'panic',
  'plain round robin',
  'opossum, defaults',
  'opossum, tuned',
  'cockatiel, 5 in a row',
]

export const allOut = {
  name: 'all out',
  contenders: lists,
  rows: [{ name: 'all out' }],

  async measure(_row, contender, seed, library) {
    const run = new Run(library, seed)
    const servers = Array.from(
      { length: ENDPOINTS },
      (_, i) => new Server(run.world, run.random(i), PER_SECOND / NEEDED),
    )
    let trips = 0
    const fleet = await contenders[contender](
      library,
      run.scene(servers, () => {
        if (run.now >= UP_MS) trips++
      }),
    )
    const seconds = Array.from({ length: END_MS / 1000 }, () => ({ good: 0, all: 0 }))
    run.flow(PER_SECOND, END_MS, () => {
      const second = seconds[Math.floor(run.now / 1000)]
      second.all++
      fleet.send(({ ok }) => {
        if (ok) second.good++
      })
    })
    await run.until(DOWN_MS, fleet)
    for (const server of servers) server.crash()
    let most = 0
    for (let at = UP_MS; at < END_MS; at += EVERY_MS) {
      await run.until(at, fleet)
      servers[(at - UP_MS) / EVERY_MS]?.rise()
      const before = servers.map((s) => s.calls)
      await run.until(at + EVERY_MS - 1, fleet)
      servers.forEach((s, i) => {
        if (!s.down) most = Math.max(most, s.calls - before[i])
      })
    }
    await run.until(END_MS + 1000, fleet)
    run.end()
    const after = seconds.slice(UP_MS / 1000)
    return {
      lost: after.reduce((sum, { good, all }) => sum + all - good, 0),
      wellAfterS: firstWell(after),
      crowd: most / (PER_SECOND / NEEDED),
      trips,
      shares: after.slice(0, 40).map(({ good, all }) => good / all),
    }
  },
}

function firstWell(seconds) {
  const isWell = ({ good, all }) => good >= WELL * all
  const at = seconds.findIndex((_, i) => seconds.length - i >= IN_A_ROW && seconds.slice(i, i + IN_A_ROW).every(isWell))
  return at < 0 ? null : at
}
