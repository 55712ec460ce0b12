import { bulkhead, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'
import { evenly, fateOf, Tally, work } from '../traffic.mjs'

const SECONDS = 30
const PER_SECOND = 100
const SLOW = /** @type {const} */ ([10, 18])
const SLOTS = 16
const STEP_MS = 100

/** A dependency that becomes slow: how many calls are inside, with and without a bulkhead. */
export function bulkheadAroundASlowTarget() {
  const bare = simulate([])
  const guarded = simulate([bulkhead({ slots: SLOTS })])
  const top = new Plot(64, 84, 636, 130, {
    x: [0, SECONDS],
    y: [0, 200],
    yTicks: [0, 50, 100, 150, 200],
    yLabel: 'calls inside at once',
  })
  const low = new Plot(64, 258, 636, 54, {
    x: [0, SECONDS],
    y: [0, PER_SECOND],
    xTicks: [0, 5, 10, 15, 20, 25, 30],
    yTicks: [0, 100],
    yLabel: 'with the bulkhead, calls per second',
    xLabel: 'seconds',
  })
  const columns = Array.from({ length: SECONDS }, (_, second) => {
    const refused = guarded.tally.of('refused', second)
    const passed = guarded.tally.of('answered', second)
    return [
      low.column(second, second + 0.88, 0, passed, fate.answered, { 'fill-opacity': 0.85 }),
      low.column(second, second + 0.88, passed, passed + refused, fate.refused, { 'fill-opacity': 0.45 }),
    ]
  })
  return svg(720, 352, 'Calls inside at once while a dependency is slow, with and without a bulkhead', [
    headline('100 calls a second; the target takes 50 ms, and 2 s while it is slow'),
    legend(64, 48, [
      [colour.violet, 'without a bulkhead'],
      [colour.blue, `bulkhead({ slots: ${SLOTS} })`],
    ]),
    top.column(SLOW[0], SLOW[1], 0, 200, colour.ink, { 'fill-opacity': 0.1 }),
    text(top.x(SLOW[0]) + 6, top.top + 14, 'slow', { size: 11 }),
    top.frame(),
    top.area(bare.inside, colour.violet, 0.1),
    top.line(bare.inside, colour.violet),
    top.line(guarded.inside, colour.blue),
    text(top.x(20.2), top.y(150), '200 callers wait, with all that they hold', { size: 11, fill: colour.violet }),
    text(top.x(20.2), top.y(38), `${SLOTS} wait, the others are told at once`, { size: 11, fill: colour.blue }),
    low.frame(),
    ...columns.flat(),
    legend(330, 250, [
      [fate.answered, 'answered'],
      [fate.refused, 'refused', 0.45],
    ]),
  ])
}

/** @param {readonly import('floodwall').Layer[]} layers */
function simulate(layers) {
  const world = new VirtualRuntime({ seed: 4 })
  const guarded = pipeline('stock', layers, { runtime: world })
  const target = work(world, (now) => (now >= SLOW[0] * 1000 && now < SLOW[1] * 1000 ? 2000 : 50))
  const tally = /** @type {Tally<'answered' | 'failed' | 'refused'>} */ (new Tally(1000))
  evenly(world, PER_SECOND, 0, SECONDS * 1000, () => {
    const at = world.now()
    guarded.start(target, (outcome) => tally.add(fateOf(outcome), at))
  })
  /** @type {[number, number][]} */
  const inside = []
  for (let at = 0; at <= SECONDS * 1000; at += STEP_MS) {
    inside.push([at / 1000, Number(guarded.inspect()['running'])])
    world.advance(STEP_MS)
  }
  return { inside, tally }
}
