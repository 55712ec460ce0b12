import { answered, failed, pipeline, throttle } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { band, fate, headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom, Tally } from '../traffic.mjs'

const SECONDS = 40
const PER_SECOND = 100
const DOWN = /** @type {const} */ ([6, 16])
const SHORT = /** @type {const} */ ([22, 34])
/** What the target takes while it is short. */
const TAKES = 30

const STATE = /** @type {const} */ ({
  passing: colour.green,
  throttling: colour.amber,
  probing: colour.red,
  ramping: colour.blue,
})

/** An outage, and later a target that is short: what 100 calls a second met, and what the throttle thought of it. */
export function throttleOverAnOutage() {
  const { tally, states } = simulate()
  const plot = new Plot(64, 84, 636, 140, {
    x: [0, SECONDS],
    y: [0, 120],
    xTicks: [0, 10, 20, 30, 40],
    yTicks: [0, 50, 100],
    yLabel: 'calls per second',
  })
  const fates = /** @type {const} */ (['answered', 'failed', 'refused'])
  const columns = Array.from({ length: SECONDS }, (_, second) => {
    let from = 0
    return fates.map((what) => {
      const count = tally.of(what, second)
      from += count
      return plot.column(second, second + 0.85, from - count, from, fate[what], {
        'fill-opacity': what === 'refused' ? 0.45 : 0.85,
      })
    })
  })
  const target = /** @type {const} */ ([
    [0, 'up', colour.green],
    [DOWN[0], 'down', colour.red],
    [DOWN[1], 'up', colour.green],
    [SHORT[0], `takes ${TAKES} a second`, colour.amber],
    [SHORT[1], 'up', colour.green],
  ])
  return svg(
    720,
    314,
    'A throttle over an outage, and before a target that is short: calls answered, failed and refused',
    [
      headline('An outage of 10 s, and 12 s of too much, seen by throttle()'),
      legend(64, 48, [
        [fate.answered, 'answered'],
        [fate.failed, 'failed, or refused by the target'],
        [fate.refused, 'refused here', 0.45],
      ]),
      plot.frame(),
      ...columns.flat(),
      band(plot, 254, 'target', target, { to: SECONDS, opacity: 0.3 }),
      band(plot, 274, 'throttle', states, { to: SECONDS, opacity: 0.8 }),
      legend(64, 306, [
        [STATE.passing, 'passing', 0.8],
        [STATE.throttling, 'throttling', 0.8],
        [STATE.probing, 'probing', 0.8],
        [STATE.ramping, 'ramping', 0.8],
      ]),
      text(plot.right, 306, 'seconds', { anchor: 'end', size: 11 }),
    ],
  )
}

function simulate() {
  const world = new VirtualRuntime({ seed: 4 })
  const guarded = pipeline('stock', [throttle()], { runtime: world })
  const tally = /** @type {Tally<'answered' | 'failed' | 'refused'>} */ (new Tally(1000))
  let tokens = 0
  let last = 0
  /** @type {import('floodwall').Next} */
  const target = (_, done) => {
    const second = world.now() / 1000
    tokens = Math.min(3, tokens + (second - last) * TAKES)
    last = second
    const isDown = second >= DOWN[0] && second < DOWN[1]
    const isShort = second >= SHORT[0] && second < SHORT[1] && tokens < 1
    if (!isDown && !isShort) tokens = Math.max(0, tokens - 1)
    world.after(20, () => {
      if (isDown) done(failed(new Error('down')))
      else done(isShort ? failed(new Error('too much'), 'overload') : answered('up'))
    })
  }
  atRandom(
    world,
    () => PER_SECOND,
    SECONDS * 1000,
    () => {
      const at = world.now()
      guarded.start(target, ({ ok, rejection }) => tally.add(rejection ? 'refused' : ok ? 'answered' : 'failed', at))
    },
  )
  world.advance((SECONDS + 1) * 1000)
  /** @type {(readonly [number, string, string])[]} */
  const states = [[0, '', STATE.passing]]
  for (const event of world.events) {
    if (event.type === 'state' && event.at < SECONDS * 1000)
      states.push([event.at / 1000, '', STATE[/** @type {keyof typeof STATE} */ (event.to)]])
  }
  return { tally, states }
}
