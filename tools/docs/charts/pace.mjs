import { answered, pace, pipeline } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, line, svg, text } from '../svg.mjs'

const SECONDS = 6
const RATE = 5

/** A crowd before a pace of 5 a second: when calls come, when they go, and how many wait meanwhile. */
export function crowdBeforeAPace() {
  const { came, waiting } = simulate()
  const plot = new Plot(52, 84, 648, 110, {
    x: [0, SECONDS],
    y: [0, 10],
    xTicks: [0, 1, 2, 3, 4, 5, 6],
    yTicks: [0, 5, 10],
    yLabel: 'calls that wait',
    xLabel: 'seconds',
  })
  const tick = (/** @type {number} */ at, /** @type {number} */ y, /** @type {string} */ stroke) =>
    line(plot.x(at), y, plot.x(at), y + 13, { stroke, 'stroke-width': 2 })
  const marks = came.flatMap(({ at, went }) =>
    went === undefined ? [tick(at, 244, fate.refused)] : [tick(at, 244, colour.ink), tick(went, 266, fate.answered)],
  )
  return svg(720, 292, 'Calls that come in crowds, and go at a steady pace', [
    headline(`pace({ rate: ${RATE}, atMost: '1.5s' })`),
    legend(52, 48, [
      [colour.ink, 'comes'],
      [fate.answered, 'goes'],
      [fate.refused, 'would wait too long: refused when it comes'],
    ]),
    plot.frame(),
    plot.area(waiting, colour.blue, 0.12),
    plot.line(waiting, colour.blue),
    text(plot.x(0.55), plot.y(9), '12 at once', { size: 11 }),
    text(plot.x(3.55), plot.y(6.5), '8 a second come, 5 go', { size: 11 }),
    ...marks,
  ])
}

function simulate() {
  const world = new VirtualRuntime()
  const street = pipeline('street', [pace({ rate: RATE, atMost: '1.5s' })], { runtime: world })
  /** @type {{ at: number, went?: number }[]} */
  const came = []
  /** @type {[number, number][]} */
  const waiting = []
  const come = () => {
    const seen = /** @type {{ at: number, went?: number }} */ ({ at: world.now() / 1000 })
    came.push(seen)
    street.start(
      (_, done) => {
        seen.went = world.now() / 1000
        done(answered(1))
      },
      () => {},
    )
  }
  for (let i = 0; i < 12; i++) world.after(500 + i * 8, come)
  for (let i = 0; i < 16; i++) world.after(3000 + i * 125, come)
  for (let at = 0; at <= SECONDS * 1000; at += 20)
    world.after(at, () => waiting.push([world.now() / 1000, Number(street.inspect()['waiting'] ?? 0)]))
  world.advance(SECONDS * 1000)
  street.close()
  return { came, waiting }
}
