import { rateLimit } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { fate, headline, legend } from '../plot.mjs'
import { line, svg, text } from '../svg.mjs'

const SECONDS = 24
const LEFT = 130
const WIDTH = 570

const ALGORITHMS = /** @type {const} */ (['tokenBucket', 'slidingLog', 'slidingWindow', 'fixedWindow', 'warmUp'])

/** Ten in ten seconds, asked for by somebody who comes late in the first window and takes all that he can get. */
export function ratesOfTheGreedy() {
  const x = (/** @type {number} */ second) => LEFT + (second / SECONDS) * WIDTH
  const rows = ALGORITHMS.flatMap((algorithm, row) => {
    const y = 84 + row * 34
    return [
      text(LEFT - 12, y + 12, algorithm, { anchor: 'end', size: 11, mono: true }),
      line(LEFT, y + 18, LEFT + WIDTH, y + 18, { 'stroke-opacity': 0.3 }),
      ...greedy(algorithm).map((at) => line(x(at), y, x(at), y + 15, { stroke: fate.answered, 'stroke-width': 2 })),
    ]
  })
  const edges = [0, 10, 20].flatMap((second) => [
    line(x(second), 76, x(second), 84 + ALGORITHMS.length * 34, { 'stroke-opacity': 0.5, 'stroke-dasharray': '3 3' }),
    text(x(second), 84 + ALGORITHMS.length * 34 + 16, `${second} s`, { anchor: 'middle', size: 11 }),
  ])
  return svg(
    720,
    84 + ALGORITHMS.length * 34 + 28,
    'What each algorithm grants to somebody who takes all that he can get',
    [
      headline("rateLimit({ rate: 10, per: '10s', algorithm }), asked without a pause from the ninth second on"),
      legend(LEFT, 48, [[fate.answered, 'passed']]),
      ...edges,
      ...rows,
    ],
  )
}

/** @param {(typeof ALGORITHMS)[number]} algorithm */
function greedy(algorithm) {
  const world = new VirtualRuntime()
  const gate = /** @type {import('floodwall').Gate} */ (
    rateLimit({ rate: 10, per: '10s', algorithm }).build(world.env('api'))
  )
  /** @type {number[]} */
  const passed = []
  world.advance(9000)
  for (; world.now() < SECONDS * 1000; world.advance(50)) {
    const now = world.now()
    if (gate.tryAcquire({ now, deadline: Infinity, criticality: 'critical', cost: 1, key: '' }).ok)
      passed.push(now / 1000)
  }
  return passed
}
