import { answered, keyed, pipeline, rateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend } from '../plot.mjs'
import { colour, line, rect, svg, text } from '../svg.mjs'
import { atRandom } from '../traffic.mjs'

const SECONDS = 60
/** Who sends how much, in calls per second. */
const CALLERS = /** @type {const} */ ({ ann: 4, ben: 6, cleo: 8, bot: 120 })

/** One caller sends too much: who pays, under one limit for all and under a limit for each. */
export function keyedLimits() {
  return svg(720, 252, 'Calls passed and refused per caller, under a common limit and under a limit for each', [
    headline('A minute with one caller who sends too much'),
    legend(60, 48, [
      [fate.answered, 'passed'],
      [fate.refused, 'refused', 0.45],
    ]),
    ...panel(60, 'rateLimit({ rate: 40 })', [rateLimit({ rate: 40 })]),
    ...panel(410, 'keyed({ of: rateLimit({ rate: 10 }) })', [keyed({ of: rateLimit({ rate: 10 }) })]),
  ])
}

/**
 * @param {number} left
 * @param {string} name
 * @param {readonly import('floodwall').Layer[]} layers
 */
function panel(left, name, layers) {
  const rows = simulate(layers).map(([caller, passed, refused], i) => {
    const y = 106 + i * 32
    const share = (passed / (passed + refused)) * 290
    return [
      text(left - 8, y + 14, caller, { anchor: 'end' }),
      rect(left, y, share, 20, { fill: fate.answered, 'fill-opacity': 0.85 }),
      rect(left + share, y, 290 - share, 20, { fill: fate.refused, 'fill-opacity': 0.45 }),
      share > 40
        ? text(left + 6, y + 14, `${passed}`, { size: 11, fill: '#fff' })
        : text(left + share + 5, y + 14, `${passed}`, { size: 11 }),
      refused === 0 ? '' : text(left + 284, y + 14, `${refused}`, { size: 11, anchor: 'end' }),
    ]
  })
  return [
    text(left, 90, name, { mono: true, fill: colour.blue }),
    line(left, 100, left, 232, { 'stroke-opacity': 0.6 }),
    ...rows.flat(),
  ]
}

/**
 * @param {readonly import('floodwall').Layer[]} layers
 * @returns {[caller: string, passed: number, refused: number][]}
 */
function simulate(layers) {
  const world = new VirtualRuntime({ seed: 2 })
  const api = pipeline('api', layers, { runtime: world })
  const counts = Object.entries(CALLERS).map(([key, perSecond]) => {
    const count = { passed: 0, refused: 0 }
    atRandom(
      world,
      () => perSecond,
      SECONDS * 1000,
      () =>
        api.start(
          (_, done) => done(answered(undefined)),
          ({ ok }) => void (ok ? count.passed++ : count.refused++),
          { key },
        ),
    )
    return /** @type {const} */ ([key, count])
  })
  world.advance(SECONDS * 1000)
  return counts.map(([key, { passed, refused }]) => [key, passed, refused])
}
