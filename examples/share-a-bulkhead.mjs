// Two pipelines, one database: their calls together take at most three connections.
import { bulkhead, envOf, gate, isRejected, pipeline, queue, Semaphore, systemRuntime } from 'floodwall'

const connections = new Semaphore({ slots: 3 }, envOf(systemRuntime, 'database/connections'))

const web = pipeline('web', [queue({ atMost: '2s' }), gate(connections)])
const reports = pipeline('reports', [bulkhead({ slots: 1 }), gate(connections)])

let running = 0
let most = 0

async function query(ms) {
  running++
  most = Math.max(most, running)
  await new Promise((resolve) => setTimeout(resolve, ms))
  running--
}

async function many(name, calls) {
  const results = await Promise.allSettled(calls)
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  console.log(`${name}: ${calls.length - errors.length} of ${calls.length} were answered`)
  if (isRejected(errors[0])) console.log(`  ${errors[0].message}`)
}

await Promise.all([
  // A report is slow, so reports may hold one connection; the others are told at once.
  many(
    'reports',
    Array.from({ length: 4 }, () => reports.call(() => query(200))),
  ),
  // The web waits a little for its turn.
  many(
    'web',
    Array.from({ length: 8 }, () => web.call(() => query(30))),
  ),
])
console.log(`never more than ${most} queries at once`)
