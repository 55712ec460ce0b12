import { answered, overload, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom } from '../traffic.mjs'

const SECONDS = 12
const FLOOD = /** @type {const} */ ([3, 8])
const WORKERS = 4
const SERVICE_MS = 20
/** Nobody waits for longer. */
const PATIENCE_MS = 1000
const ANSWER = answered(undefined)

/** A server of 200 a second, and a flood of four times that: how long calls take, with and without. */
export function overloadOverAFlood() {
  const title = 'Calls of a server over a flood of four times its capacity, without and with overload protection'
  return svg(900, 310, title, [
    headline('A flood of four times the capacity: each dot is a call'),
    legend(52, 48, [
      [colour.blue, 'answered in time'],
      [fate.refused, 'answered to nobody, after a second'],
    ]),
    ...panel(52, 'nothing', []),
    ...panel(490, 'overload()', [overload()]),
  ])
}

/**
 * @param {number} left
 * @param {string} name
 * @param {readonly import('floodwall').Layer[]} layers
 */
function panel(left, name, layers) {
  const { good, late } = simulate(layers)
  const plot = new Plot(left, 106, 380, 150, {
    x: [0, SECONDS],
    y: [0, 1200],
    xTicks: [0, 3, 6, 9, 12],
    yTicks: [0, 250, 500, 750, 1000],
    xLabel: 'arrival, seconds',
  })
  return [
    plot.column(FLOOD[0], FLOOD[1], 0, 1200, colour.ink, { 'fill-opacity': 0.1 }),
    text(plot.x(FLOOD[0]) + 5, plot.top + 18, 'flood', { size: 11 }),
    plot.frame(),
    plot.dots(thin(good), colour.blue, { size: 4, opacity: 0.5 }),
    plot.dots(thin(late), fate.refused, { size: 4, opacity: 0.5 }),
    text(left, 78, name, { mono: true, fill: colour.blue }),
    text(left, 95, `time in ms · ${good.length} answered, ${late.length} in vain`, { size: 11 }),
  ]
}

/** @param {readonly import('floodwall').Layer[]} layers */
function simulate(layers) {
  const world = new VirtualRuntime({ seed: 7 })
  const api = pipeline('api', layers, { runtime: world })
  /** @type {[number, number][]} */
  const good = []
  /** @type {[number, number][]} */
  const late = []
  const freeAt = new Array(WORKERS).fill(0)
  const perSecond = (/** @type {number} */ now) => (now >= FLOOD[0] * 1000 && now < FLOOD[1] * 1000 ? 800 : 140)
  atRandom(world, perSecond, SECONDS * 1000, () => {
    const at = world.now()
    api.start(
      (_, done) => {
        const first = freeAt.indexOf(Math.min(...freeAt))
        freeAt[first] = Math.max(world.now(), freeAt[first]) + SERVICE_MS * (0.5 + world.random())
        world.after(freeAt[first] - world.now(), () => done(ANSWER))
      },
      ({ ok }) => {
        if (!ok) return
        const took = world.now() - at
        if (took <= PATIENCE_MS) good.push([at / 1000, took])
        else late.push([at / 1000, Math.min(1150, took)])
      },
    )
  })
  world.advance(SECONDS * 4 * 1000)
  return { good, late }
}

/**
 * Every fifth: thousands would be a carpet.
 * @param {[number, number][]} dots
 */
const thin = (dots) => dots.filter((_, i) => i % 5 === 0)
