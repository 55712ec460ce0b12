import { AdaptiveLimit, gate } from 'floodwall'
import { Clients, exponential, Server, steps, World } from 'floodwall/simulator'
import { headline, legend, Plot } from '../plot.mjs'
import { colour, svg, text } from '../svg.mjs'

const SECONDS = 40
const WORKERS = 8
const MS = 40
/** What it can do: 200 calls a second. */
const PER_SECOND = (WORKERS * 1000) / MS
const FLOOD = /** @type {const} */ ([8, 32])
const SLOW = /** @type {const} */ ([16, 24])
const EVERY_MS = 100

/** A flood before a server that becomes slow and well again: the limit, and how long calls took. */
export function adaptiveLimitInAFlood() {
  const { limits, latencies } = simulate()
  const top = new Plot(64, 84, 636, 110, {
    x: [0, SECONDS],
    y: [0, 32],
    yTicks: [0, 8, 16, 24, 32],
    yLabel: 'calls at once',
  })
  const low = new Plot(64, 236, 636, 90, {
    x: [0, SECONDS],
    y: [0, 400],
    xTicks: [0, 8, 16, 24, 32, 40],
    yTicks: [0, 200, 400],
    yLabel: 'milliseconds that a call took inside, on average',
    xLabel: 'seconds',
  })
  return svg(720, 368, 'An adaptive limit in a flood, before a server that becomes slow and well again', [
    headline(`${WORKERS} workers of ${MS} ms that nobody has told it of, and three times as many calls as they can do`),
    legend(64, 48, [
      [colour.blue, 'adaptiveLimit()'],
      [colour.violet, 'what a call took'],
    ]),
    top.column(FLOOD[0], FLOOD[1], 0, 32, colour.ink, { 'fill-opacity': 0.06 }),
    top.column(SLOW[0], SLOW[1], 0, 32, colour.ink, { 'fill-opacity': 0.08 }),
    text(top.x(FLOOD[0]) + 6, top.top + 14, 'three times as many', { size: 11 }),
    text(top.x(SLOW[0]) + 6, top.top + 14, '... and three times as slow', { size: 11 }),
    top.frame(),
    top.line(limits, colour.blue),
    text(top.x(0.4), top.y(WORKERS) - 3, `${WORKERS} workers`, { size: 10 }),
    top.column(0, SECONDS, WORKERS - 0.1, WORKERS + 0.1, colour.ink, { 'fill-opacity': 0.5 }),
    low.frame(),
    low.line(latencies, colour.violet),
  ])
}

function simulate() {
  const world = new World({ seed: 2 })
  const limit = new AdaptiveLimit()
  const server = new Server(world, 'server', {
    workers: WORKERS,
    service: exponential(MS),
    guard: [gate(limit)],
    refusal: 0,
    faults: [
      { from: SLOW[0] * 1000, slow: 3 },
      { from: SLOW[1] * 1000, well: true },
    ],
  })
  const clients = new Clients(world, 'clients', {
    to: server,
    arrivals: steps([
      { from: 0, rate: 0.6 * PER_SECOND },
      { from: FLOOD[0] * 1000, rate: 3 * PER_SECOND },
      { from: FLOOD[1] * 1000, rate: 0.6 * PER_SECOND },
    ]),
  })
  /** @type {[number, number][]} */
  const limits = []
  /** @type {[number, number][]} */
  const latencies = []
  for (let at = 0; at < SECONDS * 1000; at += EVERY_MS) {
    world.run(EVERY_MS)
    limits.push([at / 1000, Math.min(32, limit.limit)])
    if ((at / EVERY_MS) % 5 !== 4) continue
    const { mean } = clients.report().latency
    latencies.push([at / 1000, Math.min(400, mean ?? 0)])
    world.forget()
  }
  return { limits, latencies }
}
