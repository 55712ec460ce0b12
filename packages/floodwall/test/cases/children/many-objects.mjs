// Thousands of gates and pipelines, used once or never, and then the end of the script.
import {
  Breaker,
  breaker,
  bulkhead,
  deadline,
  pipeline,
  queue,
  rateLimit,
  retry,
  TokenBucket,
  timeout,
} from 'floodwall'

const [mode] = process.argv.slice(2)
const layers = [
  deadline({ within: '30s' }),
  retry(),
  queue(),
  breaker(),
  rateLimit({ rate: 5 }),
  bulkhead({ slots: 3 }),
  timeout({ after: '20s' }),
]
const gates = Array.from({ length: 5000 }, () => new Breaker()).concat(
  Array.from({ length: 100 }, () => new TokenBucket({ rate: 1 })),
)
const pipelines = Array.from({ length: 5000 }, (_, i) => pipeline(`p${i}`, layers))

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
const before = timers()
let answers = 0
if (mode === 'used') for (const p of pipelines) answers += await p.call(async () => 1)
if (mode === 'closed') for (const p of pipelines) p.close()
// The timers of a turn are given back when it is over.
await new Promise((resolve) => setImmediate(resolve))
console.log(JSON.stringify({ gates: gates.length, answers, timers: timers() - before }))
