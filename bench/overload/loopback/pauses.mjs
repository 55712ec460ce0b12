// A server that says hello, far below its load, whose loop stands still once a second, as for a collection: who is refused for it?
import { generate, withServer } from './staircase.mjs'

/** What a hello server does easily, and so many in a pause that they look like a flood. */
const PER_SECOND = 8000
const CONNECTIONS = 2000
const MEASURE_MS = 4000

export const pauses = [60, 150].map((pauseMs) => ({ name: `a loop that stands still for ${pauseMs} ms`, pauseMs }))

/** Answers and refusals of so many seconds, and the time of the answers. */
export async function pausing({ pauseMs }, { node, floodwall }) {
  const what = { contender: 'floodwall', handler: 'hello', perMs: 0, pauseMs, node, floodwall }
  const phases = [
    { name: 'before', perSecond: PER_SECOND / 2, settleMs: 0, measureMs: 1500 },
    { name: 'pauses', perSecond: PER_SECOND, settleMs: 200, measureMs: MEASURE_MS },
  ]
  const found = await withServer(what, (server, port) => generate(server, port, { most: CONNECTIONS, phases }, node))
  const { good, late, refused, unsent, p99Ms } = found.phases[1]
  return { all: good + late + refused + unsent, refused, unsent, p99Ms }
}
