import { failed, pipeline, retry } from 'floodwall'
import { VirtualRuntime } from 'floodwall/testing'
import { headline, legend, Plot, stepped } from '../plot.mjs'
import { colour, line, svg, text } from '../svg.mjs'
import { evenly, Tally, work } from '../traffic.mjs'

const RETRIES = 8
const CALLERS = 60
const FIRST = 50
const AT_MOST = 2000

/** The ceilings of the default backoff, and the waits of sixty callers who failed together. */
export function backoffCeilings() {
  const plot = new Plot(60, 84, 640, 160, {
    x: [0.5, RETRIES + 0.5],
    y: [0, AT_MOST],
    xTicks: Array.from({ length: RETRIES }, (_, i) => i + 1),
    yTicks: [0, 500, 1000, 1500, 2000],
    yLabel: 'wait in ms',
    xLabel: 'retry',
  })
  let ceiling = FIRST
  const ceilings = Array.from({ length: RETRIES }, (_, i) => {
    const now = Math.min(ceiling, AT_MOST)
    ceiling *= 2
    const [from, to] = [i + 0.66, i + 1.34]
    return [
      plot.column(from, to, 0, now, colour.blue, { 'fill-opacity': 0.14 }),
      line(plot.x(from), plot.y(now), plot.x(to), plot.y(now), { stroke: colour.blue, 'stroke-width': 2 }),
      text(plot.x(i + 1), plot.y(now) - 6, `${now}`, { size: 11, anchor: 'middle', fill: colour.blue }),
    ]
  })
  const dots = waits().map(
    ([attempt, caller, wait]) => /** @type {const} */ ([attempt - 0.3 + (0.6 * caller) / (CALLERS - 1), wait]),
  )
  return svg(720, 290, 'Backoff: the ceiling of each retry and the waits below it', [
    headline('Default backoff: sixty callers who failed together spread out'),
    legend(60, 48, [
      [colour.blue, 'ceiling: doubles up to 2 s'],
      [colour.green, 'the wait of one caller'],
    ]),
    plot.frame(),
    ...ceilings.flat(),
    plot.dots(dots, colour.green, { size: 4, opacity: 0.7 }),
  ])
}

/** @returns {[attempt: number, caller: number, waitMs: number][]} */
function waits() {
  const world = new VirtualRuntime({ seed: 21 })
  const layers = [retry({ attempts: RETRIES + 1, budget: { ratio: 1, minimum: CALLERS * RETRIES } })]
  const target = pipeline('mail', layers, { runtime: world })
  /** @type {[number, number, number][]} */
  const found = []
  for (let caller = 0; caller < CALLERS; caller++) {
    let before = 0
    target.start(
      ({ attempt }, done) => {
        if (attempt > 0) found.push([attempt, caller, world.now() - before])
        before = world.now()
        done(failed(new Error('down')))
      },
      () => {},
      { idempotent: true },
    )
  }
  world.run()
  return found
}

const SECONDS = 45
const PER_SECOND = 50
const DOWN = /** @type {const} */ ([10, 30])

/** What a target that is down is sent: with a budget, and with attempts alone. */
export function budgetInAnOutage() {
  const plot = new Plot(60, 84, 640, 160, {
    x: [0, SECONDS],
    y: [0, PER_SECOND * 3],
    xTicks: [0, 10, 20, 30, 40],
    yTicks: [0, 50, 100, 150],
    yLabel: 'requests per second that reach the target',
    xLabel: 'seconds',
  })
  const free = load({ ratio: 1, minimum: 1_000_000 })
  const thrifty = load({ ratio: 0.1, minimum: 3 })
  const during = thrifty.filter(([at]) => at >= DOWN[0] && at < DOWN[1])
  const mean = during.reduce((sum, [, count]) => sum + count, 0) / during.length / PER_SECOND
  return svg(720, 290, 'Load on a broken target with and without a retry budget', [
    headline('50 calls a second, 3 attempts each, a target that is down for 20 s'),
    legend(60, 48, [
      [colour.violet, 'attempts alone'],
      [colour.blue, 'budget: { ratio: 0.1 }'],
    ]),
    plot.column(DOWN[0], DOWN[1], 0, PER_SECOND * 3, colour.ink, { 'fill-opacity': 0.1 }),
    text(plot.x(DOWN[0]) + 6, plot.bottom - 8, 'down', { size: 11 }),
    plot.frame(),
    plot.area(stepped(free), colour.violet, 0.08),
    plot.steps(free, colour.violet),
    plot.steps(thrifty, colour.blue),
    text(plot.x(25.5), plot.y(126), 'three times its load', { size: 11, anchor: 'middle', fill: colour.violet }),
    text(plot.x(25.5), plot.y(62), `${mean.toFixed(2)} times its load`, {
      size: 11,
      anchor: 'middle',
      fill: colour.blue,
    }),
  ])
}

/**
 * @param {{ ratio: number, minimum: number }} budget
 * @returns {[number, number][]}
 */
function load(budget) {
  const world = new VirtualRuntime({ seed: 8 })
  const layers = [retry({ attempts: 3, budget })]
  const target = pipeline('mail', layers, { runtime: world })
  const tally = /** @type {Tally<'request'>} */ (new Tally(1000))
  const answer = work(
    world,
    () => 20,
    (now) => now >= DOWN[0] * 1000 && now < DOWN[1] * 1000,
  )
  evenly(world, PER_SECOND, 0, SECONDS * 1000, () =>
    target.start(
      (call, done) => {
        tally.add('request', world.now())
        answer(call, done)
      },
      () => {},
      { idempotent: true },
    ),
  )
  world.advance(SECONDS * 1000)
  const seconds = Array.from(
    { length: SECONDS },
    (_, second) => /** @type {[number, number]} */ ([second, tally.of('request', second)]),
  )
  return [...seconds, [SECONDS, PER_SECOND]]
}
