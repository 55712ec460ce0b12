// The target is gone, and comes back. What was sent to it meanwhile, and how soon does everything pass again?
import { contenders } from '../contenders.mjs'
import { drive } from '../drive.mjs'
import { least, most, percent, tenths, whole } from '../report.mjs'

const WELL_MS = 5000
/** Probes are counted from here on: before, an outage is found out. */
const FOUND_MS = 3000
const WATCH_MS = 10_000
const STEP_MS = 100

const names = Object.keys(contenders)

/** kratos' recorded outage is 3 s at 100 a second, go-zero's 20 s at 20. */
const outages = [
  [10, 3],
  [10, 10],
  [10, 20],
  [10, 60],
  [20, 20],
  [100, 3],
  [100, 10],
  [100, 20],
  [100, 60],
  [1000, 3],
  [1000, 10],
  [1000, 20],
]

export const outage = {
  name: 'outage',
  seeds: 100,
  contenders: names,
  rows: outages.map(([perSecond, seconds]) => ({
    name: `outage: ${seconds} s, ${perSecond}/s`,
    perSecond,
    downMs: seconds * 1000,
  })),

  measure({ perSecond, downMs }, make, seed, { seeded }) {
    const healsAt = WELL_MS + downMs
    let sent = 0
    let probes = 0
    const asked = Array.from({ length: WATCH_MS / STEP_MS }, () => 0)
    const passed = asked.map(() => 0)
    drive(make(seed), seeded, {
      perSecond,
      seed,
      untilMs: healsAt + WATCH_MS,
      target: (now) => (now >= WELL_MS && now < healsAt ? 'failure' : 'success'),
      seen(now, verdict) {
        if (now >= healsAt) {
          const step = Math.floor((now - healsAt) / STEP_MS)
          asked[step]++
          if (verdict !== undefined) passed[step]++
        } else if (verdict === 'failure') {
          sent++
          if (now >= WELL_MS + FOUND_MS) probes++
        }
      },
    })
    const shareOf = (fromMs, toMs) => {
      const sum = (counts) => counts.slice(fromMs / STEP_MS, toMs / STEP_MS).reduce((a, b) => a + b, 0)
      return sum(asked) === 0 ? 1 : sum(passed) / sum(asked)
    }
    let backMs = 0
    while (backMs < WATCH_MS - 1000 && shareOf(backMs, backMs + 1000) < 0.95) backMs += STEP_MS
    const probesPerSecond = downMs > FOUND_MS ? (probes * 1000) / (downMs - FOUND_MS) : 0
    return { healed: shareOf(2000, 3000), backMs, sent, probesPerSecond }
  },

  tables: [
    names.flatMap((name) => [
      [name, (line) => least(line.of(name), 'healed', percent)],
      ['back after', (line) => most(line.of(name), 'backMs', back)],
    ]),
    names.flatMap((name) => [
      [`${name}: sent`, (line) => most(line.of(name), 'sent', whole)],
      ['probes/s', (line) => (line.downMs > FOUND_MS ? most(line.of(name), 'probesPerSecond', tenths) : '')],
    ]),
  ],
}

const back = (ms) => (ms >= WATCH_MS - 1000 ? 'later' : `${(ms / 1000).toFixed(1)} s`)
