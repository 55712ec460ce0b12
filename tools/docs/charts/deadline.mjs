import { answered, deadline, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, Plot } from '../plot.mjs'
import { colour, line, rect, svg, text } from '../svg.mjs'

/** What a step of the chain had left when it was called, and when it began and ended, in milliseconds. */
/** @typedef {{ name: string, own: string, has: number, from: number, to: number, end: string, fill: string }} Span */

/** Three services, each called by the one before: what each was left, and when each ended. */
export function deadlineAlongAChain() {
  const { spans, fallback } = simulate()
  const plot = new Plot(84, 66, 600, 150, {
    x: [0, 1000],
    y: [0, 3],
    xTicks: [0, 200, 400, 600, 800, 1000],
    xLabel: 'ms after the first call',
  })
  const bars = spans.map(({ name, own, has, from, to, end, fill }, i) => {
    const y = plot.top + 10 + i * 50
    const [left, right] = [plot.x(from), plot.x(to)]
    return [
      text(76, y + 15, name, { anchor: 'end' }),
      rect(left, y, plot.x(from + has) - left, 22, {
        fill: 'none',
        stroke: fill,
        'stroke-opacity': 0.6,
        'stroke-dasharray': '4 3',
        rx: 3,
      }),
      rect(left, y, right - left, 22, { fill, 'fill-opacity': 0.3, rx: 3 }),
      text(left + 8, y + 15, `${own} · has ${has} ms`, { size: 11 }),
      text(right + 8, y + 15, end, { size: 11, fill }),
    ]
  })
  return svg(720, 262, 'A deadline along three services: each is given what is left', [
    headline('A deadline only shrinks: stock allows itself 2 s and is given what orders has left'),
    line(plot.x(800), plot.top, plot.x(800), plot.bottom, { stroke: colour.red, 'stroke-dasharray': '4 3' }),
    plot.frame(),
    line(plot.left, plot.bottom, plot.right, plot.bottom, { 'stroke-opacity': 0.6 }),
    ...bars.flat(),
    text(plot.x(808), plot.top + 46, `answers at ${fallback} ms`, { size: 11, fill: colour.blue }),
  ])
}

function simulate() {
  const world = new VirtualRuntime()
  const service = (/** @type {string} */ name, /** @type {`${number}ms` | `${number}s`} */ within) =>
    pipeline(name, [deadline({ within })], { runtime: world })
  const front = service('front', '1s')
  const orders = service('orders', '600ms')
  const stock = service('stock', '2s')
  /** @type {Span[]} */
  const spans = []
  const begin = (
    /** @type {string} */ name,
    /** @type {string} */ own,
    /** @type {number} */ has,
    /** @type {string} */ fill,
  ) => {
    const span = { name, own, has: Math.round(has), from: world.now(), to: 0, end: '', fill }
    spans.push(span)
    return span
  }
  let fallback = 0
  front.start(
    (call, done) => {
      const span = begin('front', 'deadline 1 s', call.remainingMs, colour.blue)
      const end = () => {
        span.to = world.now()
        fallback = world.now()
        done(answered('stale'))
      }
      world.after(200, () => callOrders(call, () => world.after(60, end)))
    },
    () => {},
  )
  /** @param {import('floodwall').Call} parent @param {() => void} back */
  function callOrders(parent, back) {
    /** @type {Span | undefined} */
    let span
    orders.start(
      (call) => {
        span = begin('orders', 'deadline 600 ms', call.remainingMs, colour.violet)
        world.after(250, () => callStock(call))
      },
      ({ verdict }) => {
        if (span !== undefined) Object.assign(span, { to: world.now(), end: verdict })
        back()
      },
      { parent },
    )
  }
  /** @param {import('floodwall').Call} parent */
  function callStock(parent) {
    /** @type {Span | undefined} */
    let span
    stock.start(
      (call) => {
        span = begin('stock', 'deadline 2 s', call.remainingMs, colour.amber)
        call.signal.addEventListener('abort', () => Object.assign(span ?? {}, { end: 'its signal fires' }))
      },
      () => Object.assign(span ?? {}, { to: world.now() }),
      { parent },
    )
  }
  world.advance(2000)
  return { spans, fallback }
}
