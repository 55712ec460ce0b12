import { answered, bulkhead, partitions, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'

const SECONDS = 12
const SLOTS = 40
/** The pages come, pause and come again. */
const PAUSE = /** @type {const} */ ([4, 8])
const ANSWER = answered(undefined)

/** Who has how many slots, while one of two pauses: under one bulkhead, two halves, and partitions. */
export function partitionsOfALimit() {
  const half = () => [bulkhead({ slots: SLOTS / 2 })]
  const one = [bulkhead({ slots: SLOTS })]
  const parts = [partitions({ of: bulkhead({ slots: SLOTS }), shares: { page: 0.5, batch: 0.5 }, by: 'key' })]
  return svg(900, 292, 'Slots used by two partitions and by two halves, while one of them pauses', [
    headline('Pages that want 18 slots, and a batch that wants all 40'),
    legend(52, 48, [
      [colour.blue, 'slots of pages'],
      [colour.amber, 'slots of the batch'],
    ]),
    ...panel(52, 'bulkhead({ slots: 40 })', { page: one, batch: one, shared: true }),
    ...panel(344, 'two of 20', { page: half(), batch: half(), shared: false }),
    ...panel(636, 'partitions, half and half', { page: parts, batch: parts, shared: true }),
  ])
}

/**
 * @param {number} left
 * @param {string} name
 * @param {Layers} layers
 */
function panel(left, name, layers) {
  const lines = simulate(layers)
  const plot = new Plot(left, 96, 250, 150, {
    x: [0, SECONDS],
    y: [0, SLOTS],
    xTicks: [0, 2, 4, 6, 8, 10, 12],
    yTicks: [0, 10, 20, 30, 40],
    xLabel: 'seconds',
  })
  return [
    plot.column(PAUSE[0], PAUSE[1], 0, SLOTS, colour.ink, { 'fill-opacity': 0.08 }),
    text(plot.x(PAUSE[0]) + 5, plot.top + 14, 'no pages', { size: 11 }),
    plot.frame(),
    plot.line(lines.batch, colour.amber),
    plot.line(lines.page, colour.blue),
    text(left, 84, name, { mono: true, fill: colour.blue }),
  ]
}

/** @typedef {{ readonly page: readonly import('floodwall').Layer[], readonly batch: readonly import('floodwall').Layer[], readonly shared: boolean }} Layers */

/**
 * @param {Layers} layers
 * @returns {{ page: [number, number][], batch: [number, number][] }}
 */
function simulate({ page, batch, shared }) {
  const world = new VirtualRuntime({ seed: 4 })
  const pages = pipeline('pages', page, { runtime: world })
  const rooms = { page: pages, batch: shared ? pages : pipeline('batches', batch, { runtime: world }) }
  const used = { page: 0, batch: 0 }
  /** @type {{ page: [number, number][], batch: [number, number][] }} */
  const lines = { page: [], batch: [] }
  /** @param {'page' | 'batch'} key */
  const come = (key) =>
    rooms[key].start(
      (_, done) => {
        used[key]++
        world.after(60 + 80 * world.random(), () => {
          used[key]--
          done(ANSWER)
        })
      },
      () => {},
      { key },
    )
  for (let ms = 0; ms < SECONDS * 1000; ms += 5) {
    const pause = ms >= PAUSE[0] * 1000 && ms < PAUSE[1] * 1000
    for (let i = 0; i < 3; i++) come('batch')
    if (!pause && used.page < 18) come('page')
    world.advance(5)
    if (ms % 50 === 0)
      for (const key of /** @type {const} */ (['page', 'batch'])) lines[key].push([ms / 1000, used[key]])
  }
  return lines
}
