// Does it come back by itself, when what brought it down has gone?
import { fileURLToPath } from 'node:url'
import { onCore } from '../../gateway/cores.mjs'
import { ask } from '../../lib/children.mjs'
import { peakOf, withServer } from './staircase.mjs'

const client = fileURLToPath(new URL('storm.mjs', import.meta.url))

/** Three tries of each are more than it can do. */
const LOAD = 0.7
const BEFORE_S = 3
export const TRIGGER_S = 3
const PEAK = { peakMs: 1000, restMs: 500 }
/** Of the calls of a second: they succeed again. */
const BACK = 0.95

/** Seconds of the storm: { wanted, done, tried } each. `load`: of what the server can do. */
export async function storm(what, bare, { afterS, load = LOAD }) {
  const { perSecond } = await peakOf({ ...what, contender: bare }, PEAK)
  return withServer(what, async ({ pid }, port) => {
    const order = { port, pid, perSecond: perSecond * load, beforeS: BEFORE_S, triggerS: TRIGGER_S, afterS }
    const [command, args] = onCore(1, what.node, [client, JSON.stringify(order)])
    const name = `storm on ${what.contender}`
    const seconds = await ask(command, args, { name, withinMs: (BEFORE_S + TRIGGER_S + afterS + 60) * 1000 })
    return sumUp(seconds)
  })
}

/** Success, and tries for each call, by the second; after how many seconds it was back to stay, null: not at all. */
export function sumUp(seconds) {
  const success = seconds.map(({ wanted, done }) => (wanted === 0 ? 1 : done / wanted))
  const after = success.slice(BEFORE_S + TRIGGER_S)
  const last = after.findLastIndex((share) => share < BACK)
  return {
    success,
    tries: seconds.map(({ wanted, tried }) => (wanted === 0 ? 0 : tried / wanted)),
    before: mean(success.slice(1, BEFORE_S)),
    after: mean(after),
    backS: last === after.length - 1 ? null : last + 1,
  }
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
