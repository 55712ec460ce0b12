// A steady stream of 100,000 a second, in virtual time: a crowd is there at once, and goes one by one. How many have gone, and how far from
// their time: number i of a stream of r a second belongs at i / r.
import { replaceClock } from '../cluster/clock.mjs'

const PER_SECOND = 100_000
const CROWD = 1.5 * PER_SECOND
/** A wait in virtual time is exact. A timer of Node rings after whole milliseconds, and then when the loop comes to it: here up to one later. */
const NODE_MS = 1

const late =
  ({ after, random }) =>
  (ms, fn) =>
    after(Math.max(NODE_MS, Math.ceil(ms)) + random() * NODE_MS, fn)

const ours = (isLate) => async (library) => {
  const { pipeline, pace } = await library('index.js')
  const { VirtualRuntime } = await library('testing/index.js')
  const world = new VirtualRuntime()
  const runtime = isLate ? { ...world, after: late(world) } : world
  const layers = [pace({ rate: PER_SECOND, size: CROWD, atMost: '1h' })]
  const paced = pipeline('paced', layers, { runtime })
  const times = []
  const work = (_call, done) => {
    times.push(world.now())
    done({ ok: true, verdict: 'success', value: undefined })
  }
  for (let i = 0; i < CROWD; i++) paced.start(work, () => {})
  world.run()
  return times
}

/** `make` gets nothing and returns what resolves when its caller may go. */
const theirs = (crowd, forMs, make) => async (library) => {
  const { VirtualRuntime } = await library('testing/index.js')
  const world = new VirtualRuntime()
  const restore = replaceClock({ now: world.now, after: late(world) })
  const times = []
  const go = await make()
  for (let i = 0; i < crowd; i++) void go().then(() => times.push(world.now()))
  await world.advanceAsync(forMs)
  restore()
  return times
}

const limiter = (tokensPerInterval, interval) => async () => {
  const { RateLimiter } = await import('limiter')
  const one = new RateLimiter({ tokensPerInterval, interval })
  return () => one.removeTokens(1)
}

const bottleneck = async () => {
  const { default: Bottleneck } = await import('bottleneck')
  const one = new Bottleneck({ minTime: 1000 / PER_SECOND })
  return () => one.schedule(() => Promise.resolve())
}

export const streams = [
  { name: 'pace 100,000/s', run: ours(false) },
  { name: 'pace 100,000/s, late timers', run: ours(true) },
  { name: 'limiter: 100,000 per second', run: theirs(CROWD, 2000, limiter(PER_SECOND, 'second')) },
  { name: 'limiter: 100 per ms', run: theirs(CROWD, 1000, limiter(PER_SECOND / 1000, 1)) },
  { name: 'bottleneck: minTime 0.01 ms', run: theirs(2000, 1000, bottleneck) },
]

/** Grants of the first second, the rate of all, and the largest distance from the time of a steady stream. */
export async function stream(name, library) {
  const { run } = streams.find((one) => one.name === name)
  const times = await run(library)
  const [first] = times
  const lastMs = times.at(-1) - first
  const perMs = PER_SECOND / 1000
  let deviationMs = 0
  for (const [i, time] of times.entries()) deviationMs = Math.max(deviationMs, Math.abs(time - first - i / perMs))
  const perSecond = ((times.length - 1) / lastMs) * 1000
  return {
    grants: times.filter((time) => time - first < 1000).length,
    perSecond,
    deviation: Math.abs(perSecond / PER_SECOND - 1),
    deviationMs,
  }
}
