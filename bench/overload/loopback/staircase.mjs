// One contender before one handler: the peak of its framework, then more and more, then a step.
import { fileURLToPath } from 'node:url'
import { onCore } from '../../gateway/cores.mjs'
import { freePort, serve } from '../../gateway/servers.mjs'
import { ask } from '../../lib/children.mjs'

const file = (name) => fileURLToPath(new URL(name, import.meta.url))

/** Enough that an event loop always finds the next one. */
const CLOSED_CONNECTIONS = 64
/** Of the peak: who answers none in time has so many seconds of work before it. */
const MOST_SECONDS = 2.5
const FEWEST_CONNECTIONS = 100
const MOST_CONNECTIONS = 6000
export const SLICE_MS = 50

/** Settling for longer than a second at the first load above 1: a queue without end has to become as long as answers are useful. */
const full = {
  loads: [0.8, 1, 1.5, 2, 4, 10],
  settleMs: { 0.8: 500, 1.5: 2000 },
  restMs: 700,
  measureMs: 1500,
  peakMs: 1000,
}
const quick = { loads: [0.8, 1.5, 4, 10], settleMs: { 1.5: 1500 }, restMs: 400, measureMs: 1000, peakMs: 700 }
export const plans = { full, quick }

/** Starts a server, hands it to `use`, and stops it. */
export async function withServer({ contender, handler, perMs, floodwall, node, pauseMs }, use) {
  const port = await freePort()
  const order = { contender, handler, perMs, port, floodwall, pauseMs }
  const server = await serve(contender, node, [file('server.mjs'), JSON.stringify(order)], { core: 0, port })
  try {
    return await use(server, port)
  } finally {
    await server.stop()
  }
}

export async function calibrate(node) {
  const [command, args] = onCore(0, node, [file('calibrate.mjs')])
  return (await ask(command, args, { name: 'calibration' })).perMs
}

/** Loads a server with `phases`. */
export function generate({ pid }, port, { most, phases }, node) {
  const [command, args] = onCore(1, node, [file('generator.mjs'), JSON.stringify({ port, pid, most, phases })])
  const lasts = phases.reduce((sum, { settleMs, measureMs }) => sum + settleMs + measureMs, 0)
  return ask(command, args, { name: 'load', withinMs: lasts + 60_000 })
}

/** Good answers a second, CPU seconds for each, and what a lone request takes in the median. */
export async function peakOf(what, { peakMs, restMs }) {
  const alone = { name: 'alone', connections: 1, settleMs: 100, measureMs: peakMs / 2 }
  const all = { name: 'peak', connections: CLOSED_CONNECTIONS, settleMs: restMs, measureMs: peakMs }
  const { phases } = await withServer(what, (server, port) =>
    generate(server, port, { most: CLOSED_CONNECTIONS, phases: [alone, all] }, what.node),
  )
  const [{ p50Ms }, { good, seconds, cpuSeconds }] = phases
  if (good === 0) throw new Error(`${what.contender}, ${what.handler}: no good answer within ${peakMs} ms`)
  return { perSecond: good / seconds, cpuEach: cpuSeconds / good, cpuShare: cpuSeconds / seconds, aloneMs: p50Ms }
}

export async function climb(what, bare, plan) {
  const { loads, settleMs, restMs, measureMs } = plan
  const peak = await peakOf({ ...what, contender: bare }, plan)
  const at = (load, more = {}) => ({
    name: String(load),
    ...{ perSecond: load * peak.perSecond, settleMs: settleMs[load] ?? restMs, measureMs, ...more },
  })
  const before = at(1, { settleMs: 800, measureMs: 200 })
  const after = at(4, { settleMs: 0, sliceMs: SLICE_MS })
  const calm = at(0.3, { settleMs: 500, measureMs: 100 })
  const most = Math.min(MOST_CONNECTIONS, Math.max(FEWEST_CONNECTIONS, Math.ceil(peak.perSecond * MOST_SECONDS)))
  const phases = [...loads.map((load) => at(load)), calm, before, after]
  const run = await withServer(what, (server, port) => generate(server, port, { most, phases }, what.node))
  const steps = run.phases.slice(0, loads.length).map((phase, i) => step(phase, loads[i], peak))
  return { peak, steps, reaction: reactionOf(run.phases.at(-1), peak), lagP99Ms: run.lagP99Ms }
}

/**
 * What one refusal costs is what the server used beyond its answers at the price of the peak. The most that was possible is the peak less that.
 */
function step(phase, load, peak) {
  const { good, late, refused, unsent, seconds, cpuSeconds, p50Ms, p99Ms, refusedP99Ms } = phase
  const refusedPerSecond = refused / seconds
  const refusalMs = refused < 20 ? null : Math.max(0, ((cpuSeconds - (good + late) * peak.cpuEach) * 1000) / refused)
  const bound = peak.perSecond * Math.max(0, 1 - (refusedPerSecond * (refusalMs ?? 0)) / 1000)
  const goodPerSecond = good / seconds
  return {
    ...{ load, goodput: goodPerSecond / peak.perSecond, ofBound: goodPerSecond / bound },
    ...{ p50Ms, p99Ms, refusedPerSecond, refusalMs, refusedP99Ms },
    ...{ late: late / seconds, unsent: unsent / seconds, cpuShare: cpuSeconds / seconds },
  }
}

/** When is the delay (beyond what a lone request takes) of those that are let in under three times that, and stays there? */
function reactionOf({ slices }, { aloneMs }) {
  const delays = slices.map((ms) => (ms === null ? null : Math.max(0, ms - aloneMs)))
  const last = delays.findLastIndex((ms) => ms !== null && ms > 3 * aloneMs)
  const ms = last === delays.length - 1 ? null : (last + 1) * SLICE_MS
  return { ms, delays }
}
