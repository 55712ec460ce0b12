import { contenders, run, scenes } from '../choosing.mjs'
import { fate, headline, legend } from '../plot.mjs'
import { colour, element, line, rect, round, svg, text } from '../svg.mjs'

/** @typedef {import('../choosing.mjs').Fates} Fates */
/** @typedef {import('../plot.mjs').Point} Point */

const LEFT = 156
const GAP = 10
const WIDTH = 103
const TOP = 106
const ROW = 30
const HEIGHT = 20
/** Columns of a strip. */
const BINS = 45

/** What becomes of the calls of each breaker in each fault, as shares of what is wanted. */
export function breakersBeforeFaults() {
  const bottom = TOP + contenders.length * ROW
  const column = (/** @type {number} */ i) => LEFT + i * (WIDTH + GAP)
  const heads = scenes.map(({ name, perSecond, from, lasts, end }, i) => {
    const x = (/** @type {number} */ second) => column(i) + (second / end) * WIDTH
    const calls = perSecond >= 1 ? `${perSecond} calls a second` : `outage, one in ${Math.round(1 / perSecond)} s`
    return [
      text(column(i), TOP - 34, name, { bold: true }),
      text(column(i), TOP - 20, calls, { size: 11 }),
      rect(x(from), TOP - 13, x(from + lasts) - x(from), 5, { fill: colour.ink, rx: 1.5 }),
      ...[from, from + lasts].map((second) => line(x(second), TOP - 8, x(second), bottom, { 'stroke-opacity': 0.35 })),
    ].join('')
  })
  const strips = contenders.map(({ name, layers }, row) => {
    const y = TOP + row * ROW
    const cells = scenes.map((scene, i) => strip(column(i), y, run(scene, layers()).seconds))
    return text(LEFT - 10, y + 14, name, { size: 11, anchor: 'end' }) + cells.join('')
  })
  return svg(
    720,
    bottom + 14,
    'The same faults before each breaker: the share of calls answered, failed and refused over time',
    [
      headline('The same faults before each breaker'),
      legend(LEFT, 46, [
        [fate.answered, 'answered'],
        [fate.failed, 'failed, or too late'],
        [fate.refused, 'refused', 0.45],
        [colour.ink, 'the fault'],
      ]),
      ...strips,
      ...heads,
    ],
  )
}

/**
 * Failed calls from below, refused ones from above, answered ones between.
 *
 * @param {number} x
 * @param {number} y
 * @param {readonly Fates[]} seconds
 */
function strip(x, y, seconds) {
  let before = { failed: y + HEIGHT, refused: y }
  const bins = Array.from({ length: BINS }, (_, bin) => {
    const at = (/** @type {number} */ edge) => Math.round((edge * seconds.length) / BINS)
    const [good, bad, no] = seconds
      .slice(at(bin), at(bin + 1))
      .reduce((sum, fates) => [sum[0] + fates[0], sum[1] + fates[1], sum[2] + fates[2]], [0, 0, 0])
    const all = good + bad + no
    // Nobody called: it looks as before.
    if (all > 0) before = { failed: y + HEIGHT * (1 - bad / all), refused: y + HEIGHT * (no / all) }
    return before
  })
  const low = edge(
    x,
    bins.map(({ failed }) => failed),
  )
  const high = edge(
    x,
    bins.map(({ refused }) => refused),
  )
  return [
    area([...high, ...low.toReversed()], fate.answered, 0.85),
    area([[x, y + HEIGHT], ...low, [x + WIDTH, y + HEIGHT]], fate.failed, 0.85),
    area([[x, y], ...high, [x + WIDTH, y]], fate.refused, 0.45),
  ].join('')
}

/**
 * A line in steps from left to right: a corner where it begins, ends and changes.
 *
 * @param {number} x
 * @param {readonly number[]} values
 * @returns {Point[]}
 */
function edge(x, values) {
  /** @type {Point[]} */
  const corners = []
  let last = Number.NaN
  for (const [i, value] of values.entries()) {
    if (round(value) === round(last)) continue
    const at = x + (i * WIDTH) / BINS
    if (i > 0) corners.push([at, last])
    corners.push([at, value])
    last = value
  }
  return [...corners, [x + WIDTH, last]]
}

/**
 * Corners that are joined by straight lines, across or down.
 *
 * @param {readonly Point[]} corners
 * @param {string} fill
 * @param {number} opacity
 */
function area(corners, fill, opacity) {
  /** @type {Point | undefined} */
  let last
  const d = corners.map(([x, y]) => {
    const [was, now] = [last, /** @type {Point} */ ([round(x), round(y)])]
    last = now
    if (was === undefined) return `M${now[0]} ${now[1]}`
    return `${now[0] === was[0] ? '' : `H${now[0]}`}${now[1] === was[1] ? '' : `V${now[1]}`}`
  })
  return element('path', { d: `${d.join('')}z`, fill, 'fill-opacity': opacity })
}
