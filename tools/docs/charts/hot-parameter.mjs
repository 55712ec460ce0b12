import { bulkhead, hotParameter, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom, evenly, fateOf, Tally, work } from '../traffic.mjs'

const SECONDS = 12
const SALE = /** @type {const} */ ([4, 9])
const SLOTS = 40
const OWN = 10
/** Calls per second: of the item on sale, which is slow since all wait for one row, and of the thousand others. */
const HOT = 300
const OTHERS = 200
const SPAN_MS = 250

/** One item on sale takes all slots, or its own: what is left of the answers to all others. */
export function oneItemOnSale() {
  const alone = simulate([bulkhead({ slots: SLOTS })])
  const limited = simulate([hotParameter({ parameter: 0, slots: OWN }), bulkhead({ slots: SLOTS })])
  const plot = new Plot(64, 92, 636, 150, {
    x: [0, SECONDS],
    y: [0, 250],
    xTicks: [0, 2, 4, 6, 8, 10, 12],
    yTicks: [0, 50, 100, 150, 200, 250],
    yLabel: 'answers a second, for all other items',
    xLabel: 'seconds',
  })
  return svg(
    720,
    292,
    'Answers to calls about other items while one item is on sale, with and without a limit per item',
    [
      headline(`${OTHERS} calls a second about a thousand items, and ${HOT} about one that is on sale`),
      legend(64, 48, [
        [colour.amber, `bulkhead({ slots: ${SLOTS} })`],
        [colour.blue, `hotParameter({ parameter: 0, slots: ${OWN} }) before it`],
      ]),
      plot.column(SALE[0], SALE[1], 0, 250, colour.ink, { 'fill-opacity': 0.08 }),
      text(plot.x(SALE[0]) + 6, plot.top + 14, 'sale', { size: 11 }),
      plot.frame(),
      plot.line(alone, colour.amber),
      plot.line(limited, colour.blue),
    ],
  )
}

/**
 * @param {readonly import('floodwall').Layer[]} layers
 * @returns {[number, number][]}
 */
function simulate(layers) {
  const world = new VirtualRuntime({ seed: 6 })
  const shop = pipeline('shop', layers, { runtime: world })
  const others = /** @type {Tally<'answered' | 'failed' | 'refused'>} */ (new Tally(SPAN_MS))
  const fast = work(world, () => 50)
  const slow = work(world, () => 500)
  atRandom(
    world,
    () => OTHERS,
    SECONDS * 1000,
    () => {
      const at = world.now()
      shop.start(fast, (outcome) => others.add(fateOf(outcome), at), {
        parameters: [Math.floor(world.random() * 1000)],
      })
    },
  )
  evenly(world, HOT, SALE[0] * 1000, SALE[1] * 1000, () => shop.start(slow, () => {}, { parameters: ['sale'] }))
  world.advance((SECONDS + 1) * 1000)
  return Array.from({ length: (SECONDS * 1000) / SPAN_MS }, (_, span) => [
    ((span + 0.5) * SPAN_MS) / 1000,
    others.of('answered', span) * (1000 / SPAN_MS),
  ])
}
