import { answered, bulkhead, pipeline, timeout } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, line, rect, svg, text } from '../svg.mjs'

const END = 1500
const SLOTS = 3
/** When each call begins and how long its work takes, in milliseconds. */
const CALLS = /** @type {const} */ ([
  [50, 150],
  [120, 820],
  [240, 160],
  [360, 700],
  [480, 900],
  [620, 120],
  [760, 120],
  [980, 180],
  [1120, 130],
])

/** @typedef {{ from: number, freed: number, ended: number, fate: 'answered' | 'late' | 'refused' }} Row */

/** Two moments: the caller is freed at the timeout, the slot when the work has ended. */
export function twoMoments() {
  const { rows, used } = simulate()
  const plot = new Plot(84, 74, 612, CALLS.length * 20, { x: [0, END], y: [0, 1] })
  const low = new Plot(84, 292, 612, 48, {
    x: [0, END],
    y: [0, SLOTS],
    xTicks: [0, 250, 500, 750, 1000, 1250, 1500],
    yTicks: [0, SLOTS],
    xLabel: 'ms',
    yLabel: 'slots taken',
  })
  const bars = rows.map((row, i) => {
    const y = plot.top + i * 20
    const [from, freed, ended] = [plot.x(row.from), plot.x(row.freed), plot.x(row.ended)]
    if (row.fate === 'refused') {
      return [
        line(from - 4, y + 2, from + 4, y + 10, { stroke: fate.refused, 'stroke-width': 2.5 }),
        line(from - 4, y + 10, from + 4, y + 2, { stroke: fate.refused, 'stroke-width': 2.5 }),
        text(from + 10, y + 10, 'refused: full', { size: 11, fill: fate.refused }),
      ]
    }
    const fill = row.fate === 'answered' ? colour.green : colour.red
    return [
      rect(from, y, freed - from, 13, { fill, 'fill-opacity': 0.8, rx: 2 }),
      row.ended > row.freed ? rect(freed, y, ended - freed, 13, { fill, 'fill-opacity': 0.22, rx: 2 }) : '',
    ]
  })
  return svg(
    720,
    380,
    'Calls with a timeout of 250 ms and three slots: when the caller is freed and when the slot is',
    [
      headline('[bulkhead({ slots: 3 }), timeout({ after: 250 })]'),
      legend(84, 48, [
        [colour.green, 'answered'],
        [colour.red, 'freed after 250 ms'],
        [colour.red, 'its work goes on, its slot stays taken', 0.22],
        [fate.refused, 'refused'],
      ]),
      ...CALLS.map((_, i) => text(76, plot.top + i * 20 + 11, `call ${i + 1}`, { anchor: 'end', size: 11 })),
      ...bars.flat(),
      low.frame(),
      low.area(used, colour.blue, 0.2),
      low.steps(used, colour.blue),
    ],
  )
}

function simulate() {
  const world = new VirtualRuntime()
  const pool = pipeline('pdf', [bulkhead({ slots: SLOTS }), timeout({ after: 250 })], { runtime: world })
  const rows = CALLS.map(([from, took]) => {
    const row = /** @type {Row} */ ({ from, freed: from, ended: from, fate: 'answered' })
    world.after(from, () =>
      pool.start(
        (_, done) =>
          void world.after(took, () => {
            row.ended = world.now()
            done(answered(undefined))
          }),
        ({ ok, rejection }) => {
          row.freed = world.now()
          row.fate = rejection !== undefined ? 'refused' : ok ? 'answered' : 'late'
        },
      ),
    )
    return row
  })
  /** @type {[number, number][]} */
  const used = []
  for (let at = 0; at <= END; at += 5) {
    const [layer] = /** @type {[{ used: number }]} */ (pool.inspect()['layers'])
    used.push([at, layer.used])
    world.advance(5)
  }
  return { rows, used }
}
