// A target that takes so many calls a second and refuses the others, for half a minute; then it takes all. How much is sent for each call that it
// accepts, and how soon does everything pass again?
import { contenders } from '../contenders.mjs'
import { drive } from '../drive.mjs'
import { most, tenths } from '../report.mjs'

const names = Object.keys(contenders)
const FROM_MS = 10_000
const RELIEVED_MS = 40_000
const WATCH_MS = 10_000
const STEP_MS = 100

/** Tokens, and 50 ms of them saved up; or so many in each whole second, as many limits count. */
const targets = {
  evenly(takes) {
    let tokens = 0
    let last = 0
    return (now) => {
      tokens = Math.min(1 + takes / 20, tokens + ((now - last) * takes) / 1000)
      last = now
      if (tokens < 1) return false
      tokens--
      return true
    }
  },
  'by the second'(takes) {
    let second = -1
    let used = 0
    return (now) => {
      if (Math.floor(now / 1000) !== second) used = 0
      second = Math.floor(now / 1000)
      return used++ < takes
    }
  },
}

export const overload = {
  name: 'overload',
  seeds: 20,
  contenders: names,
  rows: Object.keys(targets).flatMap((kind) =>
    [
      [1000, 500],
      [1000, 200],
      [1000, 50],
      [100, 20],
    ].map(([perSecond, takes]) => ({
      name: `overload: ${takes} of ${perSecond}/s, ${kind}`,
      kind,
      perSecond,
      takes,
    })),
  ),

  measure({ kind, perSecond, takes }, make, seed, { seeded }) {
    const fits = targets[kind](takes)
    let sent = 0
    let accepted = 0
    const refused = Array.from({ length: WATCH_MS / STEP_MS }, () => 0)
    const asked = refused.map(() => 0)
    drive(make(seed), seeded, {
      perSecond,
      seed,
      untilMs: RELIEVED_MS + WATCH_MS,
      target: (now) => (now >= RELIEVED_MS || fits(now) ? 'success' : 'overload'),
      seen(now, verdict) {
        if (now >= RELIEVED_MS) {
          const step = Math.floor((now - RELIEVED_MS) / STEP_MS)
          asked[step]++
          if (verdict === undefined) refused[step]++
        } else if (now >= FROM_MS && verdict !== undefined) {
          sent++
          if (verdict === 'success') accepted++
        }
      },
    })
    const sum = (counts, at) => counts.slice(at, at + 10).reduce((a, b) => a + b, 0)
    let at = 0
    while (at < refused.length - 10 && sum(refused, at) > 0.05 * sum(asked, at)) at++
    const seconds = (RELIEVED_MS - FROM_MS) / 1000
    return { sent: sent / accepted, used: accepted / (takes * seconds), backMs: at * STEP_MS }
  },

  tables: [
    names.flatMap((name) => [
      [name, (line) => most(line.of(name), 'sent', tenths)],
      ['back after', (line) => most(line.of(name), 'backMs', back)],
    ]),
  ],
}

const back = (ms) => (ms >= WATCH_MS - 1000 ? 'later' : `${(ms / 1000).toFixed(1)} s`)
