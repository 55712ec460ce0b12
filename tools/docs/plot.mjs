// Axes, a grid and what is drawn on them.
import { colour, element, line, polyline, rect, round, text } from './svg.mjs'

/** @typedef {readonly [number, number]} Point */

/**
 * @typedef {object} Axes
 * @property {readonly [number, number]} x the span of the horizontal axis
 * @property {readonly [number, number]} y the span of the vertical axis
 * @property {readonly number[]} [xTicks]
 * @property {readonly number[]} [yTicks]
 * @property {(value: number) => string} [xName] how a tick is written
 * @property {(value: number) => string} [yName]
 * @property {string} [xLabel]
 * @property {string} [yLabel] stands above the axis, where it needs no turned head
 */

/** A rectangle of paper with two axes. */
export class Plot {
  /** @readonly */ left
  /** @readonly */ top
  /** @readonly */ width
  /** @readonly */ height
  /** @readonly @private */ axes

  /**
   * @param {number} left
   * @param {number} top
   * @param {number} width
   * @param {number} height
   * @param {Axes} axes
   */
  constructor(left, top, width, height, axes) {
    this.left = left
    this.top = top
    this.width = width
    this.height = height
    this.axes = axes
  }

  get right() {
    return this.left + this.width
  }

  get bottom() {
    return this.top + this.height
  }

  /** @param {number} value */
  x(value) {
    const [from, to] = this.axes.x
    return this.left + ((value - from) / (to - from)) * this.width
  }

  /** @param {number} value */
  y(value) {
    const [from, to] = this.axes.y
    return this.bottom - ((value - from) / (to - from)) * this.height
  }

  /** The grid and the names of its lines. */
  frame() {
    const { xTicks = [], yTicks = [], xName = String, yName = String, xLabel, yLabel } = this.axes
    const grid = yTicks.map((value) =>
      line(this.left, this.y(value), this.right, this.y(value), {
        'stroke-opacity': value === this.axes.y[0] ? 0.7 : 0.22,
      }),
    )
    const left = yTicks.map((value) =>
      text(this.left - 8, this.y(value) + 4, yName(value), { anchor: 'end', size: 11 }),
    )
    const marks = xTicks.map((value) =>
      line(this.x(value), this.bottom, this.x(value), this.bottom + 4, { 'stroke-opacity': 0.7 }),
    )
    const below = xTicks.map((value) =>
      text(this.x(value), this.bottom + 18, xName(value), { anchor: 'middle', size: 11 }),
    )
    const labels = [
      xLabel === undefined ? '' : text(this.right, this.bottom + 34, xLabel, { anchor: 'end', size: 11 }),
      yLabel === undefined ? '' : text(this.left, this.top - 9, yLabel, { size: 11 }),
    ]
    return [...grid, ...left, ...marks, ...below, ...labels].join('')
  }

  /**
   * @param {readonly Point[]} points
   * @param {string} stroke
   * @param {import('./svg.mjs').Attributes} [attributes]
   */
  line(points, stroke, attributes = {}) {
    return polyline(
      points.map(([x, y]) => [this.x(x), this.y(y)]),
      { stroke, ...attributes },
    )
  }

  /**
   * The same, keeping each value until the next: for what changes in steps.
   *
   * @param {readonly Point[]} points
   * @param {string} stroke
   * @param {import('./svg.mjs').Attributes} [attributes]
   */
  steps(points, stroke, attributes = {}) {
    return this.line(stepped(points), stroke, { 'stroke-linejoin': 'miter', ...attributes })
  }

  /**
   * The ground under a line.
   *
   * @param {readonly Point[]} points
   * @param {string} fill
   * @param {number} [opacity]
   */
  area(points, fill, opacity = 0.18) {
    const [first, last] = [points[0], points.at(-1)]
    if (first === undefined || last === undefined) return ''
    const [zero] = this.axes.y
    const list = [[first[0], zero], ...points, [last[0], zero]].map(
      ([x = 0, y = 0]) => `${this.x(x).toFixed(1)},${this.y(y).toFixed(1)}`,
    )
    return element('polygon', { points: list.join(' '), fill, 'fill-opacity': opacity })
  }

  /**
   * A column from `from` to `to` on the vertical axis.
   *
   * @param {number} x1
   * @param {number} x2
   * @param {number} from
   * @param {number} to
   * @param {string} fill
   * @param {import('./svg.mjs').Attributes} [attributes]
   */
  column(x1, x2, from, to, fill, attributes = {}) {
    const [left, right] = [this.x(x1), this.x(x2)]
    return rect(left, this.y(to), right - left, this.y(from) - this.y(to), { fill, ...attributes })
  }

  /**
   * Round dots of one colour, as one path: a thousand circles would be a large file.
   *
   * @param {readonly Point[]} points
   * @param {string} stroke
   * @param {{ size: number, opacity: number }} style
   */
  dots(points, stroke, { size, opacity }) {
    const d = points.map(([x, y]) => `M${round(this.x(x))} ${round(this.y(y))}h0`).join('')
    const attributes = { d, stroke, 'stroke-opacity': opacity, 'stroke-width': size, 'stroke-linecap': 'round' }
    return points.length === 0 ? '' : element('path', attributes)
  }
}

/**
 * @param {readonly Point[]} points
 * @returns {Point[]}
 */
export function stepped(points) {
  return points.flatMap(([x, y], i) => {
    const before = points[i - 1]
    return before === undefined || before[1] === y
      ? [/** @type {Point} */ ([x, y])]
      : [
          [x, before[1]],
          [x, y],
        ]
  })
}

/**
 * Coloured squares with their names, from left to right.
 *
 * @param {number} x
 * @param {number} y
 * @param {readonly (readonly [fill: string, name: string, opacity?: number])[]} entries
 */
export function legend(x, y, entries) {
  let at = x
  return entries
    .map(([fill, name, opacity]) => {
      const mark = rect(at, y - 9, 10, 10, { fill, rx: 2, 'fill-opacity': opacity })
      const words = text(at + 15, y, name, { size: 11 })
      // Letters of this size are a little under 6 wide; fonts differ, so there is room to spare.
      at += 15 + name.length * 6 + 16
      return mark + words
    })
    .join('')
}

/**
 * The headline of a picture.
 *
 * @param {string} words
 */
export function headline(words) {
  return text(12, 22, words, { size: 14, bold: true })
}

/** The colours of what becomes of calls, the same in every picture. */
export const fate = /** @type {const} */ ({ answered: colour.green, failed: colour.red, refused: colour.amber })

/**
 * A strip of what was when.
 *
 * @param {Plot} plot
 * @param {number} y
 * @param {string} name
 * @param {readonly (readonly [from: number, name: string, fill: string])[]} spans
 * @param {{ to: number, opacity: number }} style
 */
export function band(plot, y, name, spans, { to, opacity }) {
  const boxes = spans.map(([from, label, fill], i) => {
    const [left, right] = [plot.x(from), plot.x(spans[i + 1]?.[0] ?? to)]
    // What lasts a moment must still be seen.
    const box = rect(left, y, Math.max(2.5, right - left - 1), 12, { fill, 'fill-opacity': opacity, rx: 1.5 })
    return box + (label === '' ? '' : text((left + right) / 2, y + 10, label, { size: 10, anchor: 'middle' }))
  })
  return text(plot.left - 8, y + 10, name, { size: 11, anchor: 'end' }) + boxes.join('')
}
