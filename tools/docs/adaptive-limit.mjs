// Where an adaptive limit settles, and how soon, for the page about it: the real gate before servers of the simulator, to which all offer the same calls.
import { AdaptiveLimit, gate } from 'floodwall'
import { Clients, exponential, Server, steps, World } from 'floodwall/simulator'

/** @typedef {import('floodwall').AdaptiveLimitOptions} Options */

/** @type {readonly Options[]} */
const contenders = [
  { estimator: 'gradient2' },
  { estimator: 'vegas' },
  { estimator: 'aimd' },
  { estimator: 'fixed', initial: 64 },
]

const worlds = /** @type {const} */ ([
  { workers: 1, ms: 20 },
  { workers: 4, ms: 20 },
  { workers: 32, ms: 20 },
  { workers: 4, ms: 1 },
  { workers: 4, ms: 200 },
])

/** Half of the capacity, so that everybody has seen the service at ease. */
const CALM = 0.5
const FLOOD = 2
const MILD = 1.05
const TEN_MINUTES = 600_000

/** One gate before one server: what was offered is in capacities, what it took in times of the mean service time. */
class Loop {
  /**
   * @param {{ workers: number, ms: number, seed?: number }} world
   * @param {Options} options
   * @param {(phase: number) => readonly { from: number, rate: number }[]} course by the length of a phase: rates in capacities
   */
  constructor({ workers, ms, seed = 1 }, options, course) {
    this.world = new World({ seed })
    this.limit = new AdaptiveLimit(options)
    this.ms = ms
    this.perSecond = (workers * 1000) / ms
    this.phaseMs = Math.max(10_000, ms * 150)
    this.server = new Server(this.world, 'server', {
      workers,
      service: exponential(ms),
      guard: [gate(this.limit)],
      refusal: 0,
    })
    const rates = course(this.phaseMs).map(({ from, rate }) => ({ from, rate: rate * this.perSecond }))
    this.clients = new Clients(this.world, 'clients', { to: this.server, arrivals: steps(rates) })
  }

  /**
   * What came of the next `spanMs`: the limit at the end (the mean of the last third), when it was there for good (within a third of it), and what was
   * answered, as a share of what can be.
   */
  run(spanMs = this.phaseMs, slow = 1) {
    const { world } = this
    const from = world.now()
    world.forget()
    /** @type {number[]} */
    const limits = []
    const everyMs = spanMs / 200
    while (limits.length < 200) {
      world.run(everyMs)
      limits.push(this.limit.limit)
    }
    const tail = limits.slice(-66)
    const settled = tail.reduce((sum, one) => sum + one, 0) / tail.length
    // A limit of a few calls moves by one: the average of ten looks is meant.
    const smooth = limits.map((_, at) => mean(limits.slice(Math.max(0, at - 4), at + 5)))
    const last = smooth.findLastIndex((one) => Math.abs(one - settled) > Math.max(1, settled / 3))
    const { latency, success } = this.clients.report()
    const capacity = (this.perSecond / slow) * ((world.now() - from) / 1000)
    return {
      limit: settled,
      afterMs: (last + 1) * everyMs,
      goodput: success / capacity,
      p50: (latency.p50 ?? 0) / (this.ms * slow),
    }
  }
}

/** @param {readonly number[]} values */
function mean(values) {
  return values.reduce((sum, one) => sum + one, 0) / values.length
}

/** @param {{ workers: number, ms: number }} world @param {Options} options */
export function settling(world, options) {
  const loop = new Loop(world, options, (phase) => [
    { from: 0, rate: CALM },
    { from: phase / 4, rate: FLOOD },
  ])
  loop.world.run(loop.phaseMs / 4)
  const flood = loop.run()
  loop.server.become({ slow: 3 })
  const slow = loop.run(2 * loop.phaseMs, 3)
  loop.server.become({ slow: 1 })
  const back = loop.run()
  return { flood, slow, back }
}

/** @param {Options} options */
export function mildOverload(options) {
  const loop = new Loop({ workers: 4, ms: 20 }, options, () => [
    { from: 0, rate: CALM },
    { from: 2500, rate: MILD },
  ])
  loop.world.run(2500)
  const early = loop.run(60_000)
  loop.world.run(TEN_MINUTES - 120_000)
  return { early, late: loop.run(60_000) }
}

/** @param {{ limit: number, afterMs: number, goodput: number }} phase */
function cells({ limit, afterMs, goodput }) {
  return `${limit.toFixed(0)}, ${(afterMs / 1000).toFixed(1)} s, ${(100 * goodput).toFixed(0)} %`
}

/** The tables, as they stand in docs/adaptive-limit.md. */
export function tables() {
  const lines = [
    '| workers, service time | estimator | twice the capacity | median, in service times | everything takes three times as long | and is well again |',
    '|---|---|---|---|---|---|',
  ]
  for (const world of worlds) {
    for (const options of contenders) {
      const { flood, slow, back } = settling(world, options)
      const name = `\`${String(options.estimator)}\`${options.initial === undefined ? '' : `, ${options.initial}`}`
      lines.push(
        `| ${world.workers}, ${world.ms} ms | ${name} | ${cells(flood)} | ${flood.p50.toFixed(1)} | ${cells(slow)} | ${cells(back)} |`,
      )
    }
  }
  const mild = ['| estimator | limit in the first minute | in the tenth | answered |', '|---|---|---|---|']
  for (const options of contenders.slice(0, 3)) {
    const { early, late } = mildOverload(options)
    mild.push(
      `| \`${String(options.estimator)}\` | ${early.limit.toFixed(1)} | ${late.limit.toFixed(1)} | ${(100 * late.goodput).toFixed(0)} % |`,
    )
  }
  return { settling: lines.join('\n'), mild: mild.join('\n') }
}
