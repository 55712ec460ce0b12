import { answered, pipeline, rateLimit, shadow } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, line, svg, text } from '../svg.mjs'
import { atRandom, Tally } from '../traffic.mjs'

const MINUTES = 60
const RATE = 10

/** An hour with two peaks: what a limit would have refused, had it been real. */
export function shadowOfALimit() {
  const { tally, refused } = simulate()
  const plot = new Plot(52, 84, 648, 150, {
    x: [0, MINUTES],
    y: [0, 15],
    xTicks: [0, 10, 20, 30, 40, 50, 60],
    yTicks: [0, 5, 10, 15],
    yLabel: 'calls per second',
    xLabel: 'minutes',
  })
  const columns = Array.from({ length: MINUTES }, (_, minute) => {
    const all = tally.of('call', minute) / 60
    const over = tally.of('over', minute) / 60
    return [
      plot.column(minute, minute + 0.85, 0, all - over, colour.blue, { 'fill-opacity': 0.5 }),
      plot.column(minute, minute + 0.85, all - over, all, fate.refused, { 'fill-opacity': 0.85 }),
    ]
  })
  return svg(720, 280, 'Calls of an hour, and those that a limit in the shadow would have refused', [
    headline('shadow({ of: rateLimit({ rate: 10 }) }) over an hour: nothing was refused'),
    legend(52, 48, [
      [colour.blue, 'within the limit', 0.5],
      [fate.refused, `would have been refused: ${refused}`],
    ]),
    plot.frame(),
    ...columns.flat(),
    line(plot.left, plot.y(RATE), plot.right, plot.y(RATE), {
      stroke: fate.refused,
      'stroke-dasharray': '5 4',
      'stroke-width': 1.5,
    }),
    text(plot.right, plot.y(RATE) - 6, 'the limit', { size: 11, anchor: 'end' }),
  ])
}

function simulate() {
  const world = new VirtualRuntime({ seed: 3 })
  const api = pipeline('api', [shadow({ of: rateLimit({ rate: RATE }) })], { runtime: world })
  const count = () => {
    const [layer] = /** @type {[{ wouldRefuse: { count: number }[] }]} */ (api.inspect()['layers'])
    return layer.wouldRefuse[0]?.count ?? 0
  }
  const tally = /** @type {Tally<'call' | 'over'>} */ (new Tally(60_000))
  let before = 0
  atRandom(
    world,
    (now) => perSecond(now / 60_000),
    MINUTES * 60_000,
    () => {
      api.start(
        (_, done) => done(answered(undefined)),
        () => {},
      )
      tally.add('call', world.now())
      if (count() > before) tally.add('over', world.now())
      before = count()
    },
  )
  world.advance(MINUTES * 60_000)
  return { tally, refused: count() }
}

/**
 * Two peaks on a quiet ground.
 *
 * @param {number} minute
 */
function perSecond(minute) {
  return 4 + 9 * hill(minute, 17, 9) + 7 * hill(minute, 43, 12)
}

/**
 * A hill of height 1 with its top at `top`.
 *
 * @param {number} at
 * @param {number} top
 * @param {number} width
 */
function hill(at, top, width) {
  const away = (at - top) / width
  return 1 / (1 + away * away * away * away)
}
