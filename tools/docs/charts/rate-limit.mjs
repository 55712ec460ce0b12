import { TokenBucket } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend, Plot } from '../plot.mjs'
import { colour, line, svg, text } from '../svg.mjs'

const SECONDS = 12

/** A bucket of 10 that earns 5 a second: tokens over time, and what became of each call. */
export function tokensOfABucket() {
  const { tokens, calls } = simulate()
  const plot = new Plot(52, 84, 648, 150, {
    x: [0, SECONDS],
    y: [0, 10],
    xTicks: [0, 2, 4, 6, 8, 10, 12],
    yTicks: [0, 5, 10],
    yLabel: 'tokens',
    xLabel: 'seconds',
  })
  const marks = calls.map(([at, passed]) => {
    const x = plot.x(at)
    return passed
      ? line(x, 276, x, 289, { stroke: fate.answered, 'stroke-width': 2 })
      : line(x, 293, x, 306, { stroke: fate.refused, 'stroke-width': 2 })
  })
  const note = (/** @type {number} */ at, /** @type {number} */ y, /** @type {string} */ words) =>
    text(plot.x(at), plot.y(y), words, { size: 11 })
  return svg(720, 316, 'Tokens of a bucket over a burst and over a steady overload', [
    headline('rateLimit({ rate: 5, burst: 10 })'),
    legend(52, 48, [
      [colour.blue, 'tokens'],
      [fate.answered, 'passed'],
      [fate.refused, 'refused'],
    ]),
    plot.frame(),
    plot.area(tokens, colour.blue, 0.12),
    plot.line(tokens, colour.blue),
    note(1.75, 0.7, '13 at once: 10 pass'),
    note(3.4, 9, 'never above the burst'),
    note(9.2, 2.9, '8 a second come, 5 pass'),
    ...marks,
  ])
}

function simulate() {
  const world = new VirtualRuntime()
  const bucket = new TokenBucket({ rate: 5, burst: 10 }, world.env('api/rateLimit'))
  const left = () => Number(bucket.inspect(world.now())['tokens'])
  /** @type {[number, number][]} */
  const tokens = []
  /** @type {[number, boolean][]} */
  const calls = []
  const note = () => tokens.push([world.now() / 1000, left()])
  const ask = () => {
    note()
    const answer = bucket.tryAcquire({
      now: world.now(),
      deadline: Infinity,
      criticality: 'critical',
      cost: 1,
      key: '',
    })
    calls.push([world.now() / 1000, answer.ok])
    note()
  }
  for (let i = 0; i < 13; i++) world.after(1000 + i * 12, ask)
  for (let i = 0; i < 48; i++) world.after(6000 + i * 125, ask)
  for (let at = 0; at <= SECONDS * 1000; at += 100) world.after(at, note)
  world.advance(SECONDS * 1000)
  return { tokens, calls }
}
