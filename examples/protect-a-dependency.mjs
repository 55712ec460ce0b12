// A dependency breaks and heals: what a pipeline of the usual layers makes of it.
import { Breaker, breaker, bulkhead, deadline, isRejected, pipeline, retry, timeout } from 'floodwall'

const inventory = pipeline('inventory', [
  deadline({ within: '800ms' }), // the whole operation: queues, waits, all attempts
  retry({ attempts: 2, budget: { ratio: 0.1, minimum: 3 } }),
  breaker({ atLeast: 10, openFor: '300ms', jitter: 0 }),
  bulkhead({ slots: 8 }),
  timeout({ after: '250ms' }), // each attempt
])

inventory.on((event) => {
  if (event.type === 'state') console.log(`  ${event.path}: ${event.from} -> ${event.to}, ${event.why}`)
})

let broken = false
let reached = 0

async function fetchStock(sku, signal) {
  reached++
  signal.throwIfAborted()
  if (broken) throw new Error('connection reset')
  return { sku, left: 7 }
}

async function ask(times) {
  const before = reached
  const seen = { answered: 0, failed: 0, refused: 0 }
  for (let i = 0; i < times; i++) {
    try {
      await inventory.call(({ signal }) => fetchStock('A1', signal), { idempotent: true })
      seen.answered++
    } catch (error) {
      if (isRejected(error)) seen.refused++
      else seen.failed++
    }
  }
  console.log(seen, `the dependency was reached ${reached - before} times`)
}

console.log('healthy')
await ask(50)

broken = true
console.log('broken')
await ask(200)

broken = false
console.log('healed; a moment later')
await new Promise((resolve) => setTimeout(resolve, 400))
await ask(50)
const guard = inventory.find('breaker')
if (guard instanceof Breaker) console.log(`the breaker is ${guard.state()}`)
inventory.close()
