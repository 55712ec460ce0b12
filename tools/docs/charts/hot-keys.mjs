import { hotCache } from 'floodwall/caches'
import { seeded, VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { atRandom } from '../traffic.mjs'

const SECONDS = 60
const ITEMS = 2000
const USUAL = 100
const SALE = /** @type {const} */ ([15, 42])
const CROWD = 400
const TTL = 2

/** Promises are at the edge of the cache, so that the minute is played once, when this is loaded. */
const { asked, loaded, told } = await simulate()

/** One of many items becomes hot: what is asked, and what comes through to the source. */
export function oneHotItem() {
  const plot = new Plot(52, 84, 648, 170, {
    x: [0, SECONDS],
    y: [0, 600],
    xTicks: [0, 10, 20, 30, 40, 50, 60],
    yTicks: [0, 200, 400, 600],
    yLabel: 'per second',
    xLabel: 'seconds',
  })
  const columns = asked.map((count, second) => [
    plot.column(second, second + 0.88, 0, count, colour.blue, { 'fill-opacity': 0.28 }),
    plot.column(second, second + 0.88, 0, loaded[second] ?? 0, colour.violet, { 'fill-opacity': 0.85 }),
  ])
  return svg(720, 300, 'Questions per second while one item of 2000 is hot, and those that reach its source', [
    headline(
      `${ITEMS} items, ${USUAL} questions a second; from ${SALE[0]} to ${SALE[1]} s one of them gets ${CROWD} more`,
    ),
    legend(52, 48, [
      [colour.blue, 'asked', 0.28],
      [colour.violet, `loaded, with hotCache({ ttl: '${TTL}s' })`, 0.85],
    ]),
    plot.frame(),
    ...columns.flat(),
    text(
      plot.x(SALE[0]) + 8,
      plot.y(555),
      `of the hot item ${told} loads for ${CROWD * (SALE[1] - SALE[0])} questions`,
      {
        size: 11,
      },
    ),
  ])
}

async function simulate() {
  const world = new VirtualRuntime({ seed: 4 })
  const item = seeded(8)
  const asked = new Array(SECONDS).fill(0)
  const loaded = new Array(SECONDS).fill(0)
  let told = 0
  const count = (/** @type {number[]} */ counts) => {
    const second = Math.floor(world.now() / 1000)
    counts[second] = (counts[second] ?? 0) + 1
  }
  /** @type {import('floodwall/caches').HotCache<string, number>} */
  const cache = hotCache(
    {
      load: (/** @type {string} */ key) => {
        count(loaded)
        if (key === 'the one') told++
        return new Promise((resolve) => world.after(20, () => resolve(1)))
      },
      ttl: `${TTL}s`,
    },
    world,
  )
  const ask = (/** @type {string} */ key) => {
    count(asked)
    cache.get(key).catch(() => {})
  }
  atRandom(
    world,
    () => USUAL,
    SECONDS * 1000,
    () => ask(`${Math.floor(item() * ITEMS)}`),
  )
  world.after(SALE[0] * 1000, () => {
    atRandom(
      world,
      () => CROWD,
      SALE[1] * 1000,
      () => ask('the one'),
    )
  })
  await world.advanceAsync(SECONDS * 1000)
  return { asked, loaded, told }
}
