import { answered, balance, hedge, pipeline } from 'floodwall'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom } from '../traffic.mjs'

const PER_SECOND = 200
const SECONDS = 150
/** Until then the percentile and the latencies of the endpoints are not known. */
const WARM_MS = 20_000
const ENDPOINTS = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }))
/** Percentiles, by how many of a thousand are slower: on this axis the tail has room. */
const SLOWER = [500, 300, 200, 150, 100, 70, 60, 50, 45, 40, 35, 30, 25, 20, 17, 14, 12, 10, 8, 6, 5, 4, 3, 2, 1]
const TICKS = [500, 100, 50, 10, 5, 1]
const SLOWEST = 400
const ANSWER = answered(undefined)

/** One of five servers is ten times slower: latencies by percentile, with and without a hedge. */
export function tailWithAndWithout() {
  const without = life([])
  const hedged = life([hedge()])
  const plot = new Plot(60, 84, 640, 170, {
    x: [place(500), place(1)],
    y: [0, SLOWEST],
    xTicks: TICKS.map(place),
    xName: (at) => `${100 - Math.round(10 ** (3 - at)) / 10} %`,
    yTicks: [0, 100, 200, 300, 400],
    yLabel: 'latency in ms',
    xLabel: 'of the calls are faster',
  })
  const curve = (/** @type {readonly number[]} */ took) =>
    SLOWER.map((n) => /** @type {const} */ ([place(n), Math.min(SLOWEST, slower(took, n))]))
  return svg(720, 300, 'Latencies by percentile, with and without a hedge, and the load', [
    headline('One of five servers is ten times slower'),
    legend(60, 48, [
      [colour.violet, 'no hedge'],
      [colour.blue, `hedge(): ${(hedged.extra * 100).toFixed(1)} % more load`],
    ]),
    plot.frame(),
    plot.line(curve(without.took), colour.violet),
    plot.line(curve(hedged.took), colour.blue),
    ...[without.took, hedged.took].map((took, i) =>
      text(plot.x(place(10)) - 6, plot.y(slower(took, 10)) - 8, `${slower(took, 10).toFixed(0)} ms`, {
        size: 11,
        anchor: 'end',
        fill: i === 0 ? colour.violet : colour.blue,
      }),
    ),
  ])
}

/** @param {number} perMille of the calls that are slower */
function place(perMille) {
  return 3 - Math.log10(perMille)
}

/**
 * The latency that so many of a thousand exceed.
 *
 * @param {readonly number[]} took sorted
 * @param {number} perMille
 */
function slower(took, perMille) {
  return took[Math.floor((took.length * (1000 - perMille)) / 1000)] ?? 0
}

/** @param {readonly import('floodwall').Layer[]} layers */
function life(layers) {
  const world = new VirtualRuntime({ seed: 12 })
  const shop = pipeline('shop', [...layers, balance({ endpoints: ENDPOINTS })], { runtime: world })
  const random = seeded(31)
  /** @type {number[]} */
  const took = []
  let sent = 0
  atRandom(
    world,
    () => PER_SECOND,
    SECONDS * 1000,
    () => {
      const began = world.now()
      const counts = began >= WARM_MS
      shop.start(
        ({ endpoint }, done) => {
          if (counts) sent++
          // A hump at 10 ms, and a tail.
          const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
          world.after((endpoint?.id === 'a' ? 100 : 10) * Math.exp(0.6 * normal), () => done(ANSWER))
        },
        () => void (counts && took.push(world.now() - began)),
        { idempotent: true },
      )
    },
  )
  world.run()
  return { took: took.sort((a, b) => a - b), extra: sent / took.length - 1 }
}
