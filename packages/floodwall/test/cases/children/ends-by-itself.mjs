// One long-lived signal, 10,000 executions, and then the end of the script: nothing of ours may hold the process.
import { getEventListeners } from 'node:events'
import { breaker, pipeline, retry, timeout } from 'floodwall'

const [mode] = process.argv.slice(2)
const { signal } = new AbortController()
const init = mode === 'signal' ? { signal, idempotent: true } : { idempotent: true }
const p = pipeline('p', [retry({ backoff: { first: 1, atMost: 1 } }), timeout({ after: '10s' }), breaker()])

let tries = 0
let failed = 0
const work = async () => {
  // Every hundredth try fails, and is tried again.
  if (++tries % 100 === 0) throw new Error('x')
  return tries
}
for (let i = 0; i < 10_000; i++) await p.call(work, init).catch(() => failed++)
// The timer of a list is given back when the turn is over.
await new Promise((resolve) => setImmediate(resolve))
const timers = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
console.log(
  JSON.stringify({ tries: tries > 10_000, failed, listeners: getEventListeners(signal, 'abort').length, timers }),
)
