import { localTable } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'

const MINUTES = 20
const DOWN = /** @type {const} */ ([6, 11])
const PROCESSES = 8

/** Played once, when this is loaded: a load is a promise. */
const { ages, loads, failures } = await simulate()

/** Eight processes and a source that is down for a while: how old their tables are, and when they ask. */
export function tablesOverAnOutage() {
  const top = new Plot(52, 84, 648, 120, {
    x: [0, MINUTES],
    y: [0, 6],
    yTicks: [0, 2, 4, 6],
    yLabel: 'age of the table of each process, in minutes',
  })
  const low = new Plot(52, 250, 648, 60, {
    x: [0, MINUTES],
    y: [0, PROCESSES],
    xTicks: [0, 5, 10, 15, 20],
    yLabel: 'loads of each process',
    xLabel: 'minutes',
  })
  return svg(720, 350, 'Age of a table in eight processes while its source is down, and their loads', [
    headline(
      `localTable({ every: '1m' }) in ${PROCESSES} processes; the source is down from ${DOWN[0]} to ${DOWN[1]} min`,
    ),
    legend(52, 48, [
      [colour.green, 'loaded'],
      [colour.red, 'failed: the last good rows are kept'],
    ]),
    top.column(DOWN[0], DOWN[1], 0, 6, colour.ink, { 'fill-opacity': 0.1 }),
    text(top.x(DOWN[0]) + 6, top.top + 14, 'down', { size: 11 }),
    top.frame(),
    ...ages.map((points) => top.line(points, colour.blue, { 'stroke-opacity': 0.55 })),
    low.column(DOWN[0], DOWN[1], 0, PROCESSES, colour.ink, { 'fill-opacity': 0.1 }),
    low.frame(),
    low.dots(loads, colour.green, { size: 4, opacity: 0.8 }),
    low.dots(failures, colour.red, { size: 4, opacity: 0.8 }),
  ])
}

async function simulate() {
  const world = new VirtualRuntime({ seed: 9 })
  /** @typedef {import('../plot.mjs').Point} Point */
  /** @type {Point[][]} */ const ages = Array.from({ length: PROCESSES }, () => [])
  /** @type {Point[]} */ const loads = []
  /** @type {Point[]} */ const failures = []
  const minute = () => world.now() / 60_000
  const tables = ages.map((_, process) => {
    const load = () => {
      const isDown = minute() >= DOWN[0] && minute() < DOWN[1]
      ;(isDown ? failures : loads).push([minute(), process + 0.5])
      if (isDown) throw new Error('down')
      return /** @type {[string, number][]} */ ([['a', 1]])
    }
    return localTable({ load, every: '1m', name: `table ${process}` }, world)
  })
  await world.settle()
  for (let second = 0; second < MINUTES * 60; second += 5) {
    for (const [i, table] of tables.entries()) ages[i]?.push([minute(), table.ageMs / 60_000])
    await world.advanceAsync('5s')
  }
  for (const table of tables) table.close()
  return { ages, loads, failures }
}
