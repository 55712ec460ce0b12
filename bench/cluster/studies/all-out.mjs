// Every endpoint is out, then they come back one by one. What is lost, and for how long?
import { median } from '../../lib/numbers.mjs'
import { contenders } from '../contenders.mjs'
import { both, seconds, whole } from '../report.mjs'
import { Run } from '../run.mjs'
import { Server } from '../server.mjs'

const ENDPOINTS = 9
/** What an endpoint can carry: a sixth of the peak of 600 calls a second. */
const CAPACITY = 100
const NEEDED = 6
const DOWN_MS = 20_000
const UP_MS = 30_000
const EVERY_MS = 1000
const END_MS = 120_000
/** Well again: so many calls succeed, in each second of five. */
const WELL = 0.95
const IN_A_ROW = 5
/** Seconds of which the table shows how many calls were answered. */
const SHOWN = 12

const names = [
  'recovery q/n',
  'recovery q/n, checked',
  'recovery q/n, out 1 s',
  'recovery q/n, out 1 s, no ramp',
  'recovery q/kn, out 1 s, k 1.5',
  'panic',
  'panic, out 1 s',
  'no recovery, out 1 s',
  'plain round robin',
  'opossum, defaults',
  'opossum, tuned',
  'cockatiel, 5 in a row',
]

export const allOut = {
  name: 'all out',
  rows: [600, 540].flatMap((perSecond) =>
    names.map((name) => ({ name: `all out, ${perSecond}/s: ${name}`, perSecond, contenders: [name] })),
  ),

  async measure({ perSecond }, contender, seed, library) {
    const run = new Run(library, seed)
    const servers = Array.from({ length: ENDPOINTS }, (_, i) => new Server(run.world, run.random(i), CAPACITY))
    let trips = 0
    const fleet = await contenders[contender](
      library,
      run.scene(servers, () => {
        if (run.now >= UP_MS) trips++
      }),
      NEEDED,
    )
    const tally = Array.from({ length: END_MS / 1000 }, () => ({ good: 0, all: 0 }))
    run.flow(perSecond, END_MS, () => {
      const second = tally[Math.floor(run.now / 1000)]
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
    const after = tally.slice(UP_MS / 1000)
    return {
      lost: after.reduce((sum, { good, all }) => sum + all - good, 0),
      wellAfterMs: firstWell(after),
      crowd: most / CAPACITY,
      trips,
      shares: after.slice(0, SHOWN).map(({ good, all }) => good / all),
    }
  },

  columns: [
    ['calls lost', (line) => both(line.own, 'lost', whole)],
    ['95 % succeed after', (line) => both(line.own, 'wellAfterMs', seconds)],
    ['crowd at one', (line) => both(line.own, 'crowd', (times) => `${times.toFixed(1)}x`)],
    ['isolated again', (line) => both(line.own, 'trips', whole)],
    ['% of calls answered, by second', (line) => secondBySecond(line.own)],
  ],
}

/** The median of each second: what a typical run looks like. */
function secondBySecond(runs) {
  return Array.from({ length: SHOWN }, (_, i) => whole(100 * median(runs.map(({ shares }) => shares[i])))).join(' ')
}

function firstWell(tally) {
  const isWell = ({ good, all }) => good >= WELL * all
  const at = tally.findIndex((_, i) => tally.length - i >= IN_A_ROW && tally.slice(i, i + IN_A_ROW).every(isWell))
  return at < 0 ? null : at * 1000
}
