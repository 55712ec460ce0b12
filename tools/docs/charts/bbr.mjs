import { bbr, bbrPresets } from 'floodwall'
import { Clients, Server, steps, World } from 'floodwall/simulator'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'

const SECONDS = 30
const WORKERS = 4
const FLOODED = 1200
const FLOOD_ENDS = 18
const NORMAL = 350
const STEP_MS = 100
const MOST = 40

/** A server that is started into a flood, and later has 88 % of what it can do: by the formula alone, and by what is added to it. */
export function bbrInAFlood() {
  const plain = simulate({ ...bbrPresets.formula })
  const ours = simulate({})
  const top = new Plot(64, 84, 636, 130, {
    x: [0, SECONDS],
    y: [0, MOST],
    yTicks: [0, 10, 20, 30, 40],
    yLabel: 'requests inside at once, mean of a second',
  })
  const low = new Plot(64, 258, 636, 74, {
    x: [0, SECONDS],
    y: [0, 100],
    xTicks: [0, 6, 12, 18, 24, 30],
    yTicks: [0, 50, 100],
    yLabel: 'refused, percent',
    xLabel: 'seconds',
  })
  return svg(
    720,
    374,
    'A server in a flood and then at 88 % of its load: requests inside and refused, by the formula and by bbr()',
    [
      headline('It can do 400 a second, and is started into 1200; later there are 350'),
      legend(64, 48, [
        [colour.violet, 'the formula alone'],
        [colour.blue, 'bbr()'],
      ]),
      top.column(0, FLOOD_ENDS, 0, MOST, colour.ink, { 'fill-opacity': 0.08 }),
      low.column(0, FLOOD_ENDS, 0, 100, colour.ink, { 'fill-opacity': 0.08 }),
      text(top.x(FLOOD_ENDS) - 6, top.top + 14, 'three times what it can do', { size: 11, anchor: 'end' }),
      text(top.x(FLOOD_ENDS) + 6, top.top + 14, '88 %', { size: 11 }),
      top.frame(),
      top.line(plain.inside, colour.violet),
      top.line(ours.inside, colour.blue),
      low.frame(),
      low.line(plain.refused, colour.violet),
      low.line(ours.refused, colour.blue),
    ],
  )
}

/** @param {import('floodwall').BbrOptions} options */
function simulate(options) {
  const world = new World({ seed: 4 })
  let [share, busyMs] = [0, 0]
  /** @type {import('floodwall/simulator').ServiceTime} */
  const service = { meanMs: 10, draw: (chance) => 5 + 10 * chance.uniform() }
  const guard = [bbr({ ...options, cpu: () => share })]
  const server = new Server(world, 'api', { workers: WORKERS, service, guard })
  const arrivals = steps([
    { from: 0, rate: FLOODED },
    { from: `${FLOOD_ENDS}s`, rate: NORMAL },
  ])
  new Clients(world, 'people', { to: server, arrivals })
  /** @type {[number, number][]} */
  const inside = []
  /** @type {[number, number][]} */
  const refused = []
  let [sum, arrivedBefore, refusedBefore] = [0, 0, 0]
  for (let at = STEP_MS; at <= SECONDS * 1000; at += STEP_MS) {
    world.run(STEP_MS)
    const report = server.report()
    const total = report.utilisation * at
    share = Math.min(1, (total - busyMs) / STEP_MS)
    busyMs = total
    sum += server.inside
    if (at % 1000 !== 0) continue
    inside.push([at / 1000 - 0.5, Math.min(MOST, sum / 10)])
    refused.push([at / 1000 - 0.5, (100 * (report.refused - refusedBefore)) / (report.arrived - arrivedBefore)])
    sum = 0
    arrivedBefore = report.arrived
    refusedBefore = report.refused
  }
  return { inside, refused }
}
