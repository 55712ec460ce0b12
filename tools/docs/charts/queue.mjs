import { answered, bulkhead, pipeline, queue } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom } from '../traffic.mjs'

const SECONDS = 10
const RUSH = /** @type {const} */ ([3, 6])
const AT_MOST = 1000
const ANSWER = answered(undefined)

/** A rush of 3 s at 1.5 times the capacity: how long each call waited, by order of service. */
export function queueByOrder() {
  const title =
    'Waits in a queue during a rush, first in first out, last in first out, and adaptive with controlled delay'
  return svg(900, 310, title, [
    headline('A rush at 1.5 times the capacity: each dot is a call'),
    legend(52, 48, [
      [colour.blue, 'waited and passed'],
      [fate.refused, 'waited in vain: queue-timeout'],
    ]),
    ...panel(52, "order: 'fifo'", { order: 'fifo' }),
    ...panel(344, "order: 'lifo'", { order: 'lifo' }),
    ...panel(636, "order: 'adaptive', codel: {}", { order: 'adaptive', codel: {} }),
  ])
}

/**
 * @param {number} left
 * @param {string} name
 * @param {import('floodwall').QueueOptions} options
 */
function panel(left, name, options) {
  const { passed, refused } = simulate(options)
  const plot = new Plot(left, 106, 250, 150, {
    x: [0, SECONDS],
    y: [0, AT_MOST],
    xTicks: [0, 2, 4, 6, 8, 10],
    yTicks: [0, 250, 500, 750, 1000],
    xLabel: 'arrival, seconds',
  })
  const at = percentile(passed.map(([, wait]) => wait))
  return [
    plot.column(RUSH[0], RUSH[1], 0, AT_MOST, colour.ink, { 'fill-opacity': 0.1 }),
    text(plot.x(RUSH[0]) + 5, plot.top + 18, 'rush', { size: 11 }),
    plot.frame(),
    plot.dots(passed, colour.blue, { size: 4, opacity: 0.5 }),
    plot.dots(refused, fate.refused, { size: 5, opacity: 0.8 }),
    text(left, 78, name, { mono: true, fill: colour.blue }),
    text(left, 95, `wait in ms · ${refused.length} in vain, 90 % of others ≤ ${Math.round(at(0.9))} ms`, { size: 11 }),
  ]
}

/** @param {import('floodwall').QueueOptions} options */
function simulate(options) {
  const world = new VirtualRuntime({ seed: 11 })
  const layers = [queue({ size: 500, atMost: AT_MOST, ...options }), bulkhead({ slots: 10 })]
  const room = pipeline('reports', layers, { runtime: world })
  /** @type {[number, number][]} */
  const passed = []
  /** @type {[number, number][]} */
  const refused = []
  // 100 a second can be served: 80 come, 150 in the rush.
  const perSecond = (/** @type {number} */ now) => (now >= RUSH[0] * 1000 && now < RUSH[1] * 1000 ? 150 : 80)
  atRandom(world, perSecond, SECONDS * 1000, () => {
    const at = world.now()
    const seconds = at / 1000
    room.start(
      (_, done) => {
        passed.push([seconds, world.now() - at])
        world.after(100, () => done(ANSWER))
      },
      ({ rejection }) => {
        if (rejection !== undefined) refused.push([seconds, world.now() - at])
      },
    )
  })
  world.advance(SECONDS * 2 * 1000)
  return { passed, refused }
}

/** @param {readonly number[]} values */
function percentile(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return (/** @type {number} */ q) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0
}
