// SVG by hand: strings in, one string out. Coordinates are rounded to a tenth, so that the same picture has the same bytes everywhere.

/** Colours of middle lightness on no ground: a picture must be legible on a white page and on a black one. */
export const colour = /** @type {const} */ ({
  ink: '#79818b',
  blue: '#3b82d6',
  green: '#2f9e58',
  red: '#dc5151',
  amber: '#c78a1e',
  violet: '#8e6bd8',
})

/** @typedef {Readonly<Record<string, string | number | undefined>>} Attributes */

/**
 * One element. Names of attributes are written as they stand; undefined ones are left out.
 *
 * @param {string} name
 * @param {Attributes} [attributes]
 * @param {string | readonly string[]} [content] elements; text goes through {@link text}
 */
export function element(name, attributes = {}, content = '') {
  const list = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? round(value) : escape(String(value))}"`)
    .join('')
  const inner = typeof content === 'string' ? content : content.join('')
  return inner === '' ? `<${name}${list}/>` : `<${name}${list}>${inner}</${name}>`
}

/**
 * A line of text; `anchor` is where x is: `start`, `middle` or `end`.
 *
 * @param {number} x
 * @param {number} y the base line
 * @param {string} words
 * @param {{ size?: number, anchor?: 'start' | 'middle' | 'end', fill?: string, bold?: boolean, mono?: boolean, turn?: number }} [style]
 */
export function text(
  x,
  y,
  words,
  { size = 12, anchor = 'start', fill = colour.ink, bold = false, mono = false, turn } = {},
) {
  return element(
    'text',
    {
      x,
      y,
      fill,
      'font-size': size === 12 ? undefined : size,
      'font-weight': bold ? 600 : undefined,
      'font-family': mono ? 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace' : undefined,
      'text-anchor': anchor === 'start' ? undefined : anchor,
      transform: turn === undefined ? undefined : `rotate(${round(turn)} ${round(x)} ${round(y)})`,
    },
    escape(words),
  )
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {Attributes} attributes
 */
export function rect(x, y, width, height, attributes) {
  return element('rect', { x, y, width: Math.max(0, width), height: Math.max(0, height), ...attributes })
}

/**
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 * @param {Attributes} [attributes]
 */
export function line(x1, y1, x2, y2, attributes = {}) {
  return element('line', { x1, y1, x2, y2, stroke: colour.ink, ...attributes })
}

/**
 * A line through points.
 *
 * @param {readonly (readonly [number, number])[]} points
 * @param {Attributes} attributes
 */
export function polyline(points, attributes) {
  const list = points.map(([x, y]) => `${round(x)},${round(y)}`).join(' ')
  return element('polyline', {
    points: list,
    fill: 'none',
    'stroke-width': 2,
    'stroke-linejoin': 'round',
    ...attributes,
  })
}

/**
 * An arrow from one point to another along straight pieces; the head is drawn at the last.
 *
 * @param {readonly (readonly [number, number])[]} points
 * @param {{ stroke?: string, dash?: string, width?: number }} [style]
 */
export function arrow(points, { stroke = colour.ink, dash, width = 1.5 } = {}) {
  const [x, y] = /** @type {readonly [number, number]} */ (points.at(-1))
  const [fromX, fromY] = /** @type {readonly [number, number]} */ (points.at(-2))
  const length = Math.hypot(x - fromX, y - fromY)
  const [dx, dy] = [(x - fromX) / length, (y - fromY) / length]
  const at = (/** @type {number} */ back, /** @type {number} */ side) =>
    `${round(x - dx * back - dy * side)},${round(y - dy * back + dx * side)}`
  const shaft = [...points.slice(0, -1), /** @type {const} */ ([x - dx * 6, y - dy * 6])]
  return (
    polyline(shaft, { stroke, 'stroke-width': width, 'stroke-dasharray': dash }) +
    element('polygon', { points: `${round(x)},${round(y)} ${at(8, 4)} ${at(8, -4)}`, fill: stroke })
  )
}

/**
 * The whole picture. `title` is read out where pictures are not seen.
 *
 * @param {number} width
 * @param {number} height
 * @param {string} title
 * @param {readonly string[]} content
 */
export function svg(width, height, title, content) {
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'font-family': 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
    'font-size': 12,
  }
  const lines = [element('title', {}, escape(title)), ...content].join('\n')
  return `${element('svg', attributes, `\n${lines}\n`)}\n`
}

/** @param {number} value */
export function round(value) {
  return Number(value.toFixed(1))
}

/** @param {string} words */
function escape(words) {
  return words.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}
