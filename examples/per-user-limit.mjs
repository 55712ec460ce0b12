// Each user has a limit of his own; one who sends too much finds out alone.
import { isRejected, keyed, pipeline, rateLimit } from 'floodwall'

const api = pipeline('api', [
  // At most 1,000 users are told apart; a stranger beyond that shares one more bucket with the other strangers.
  keyed({ of: rateLimit({ rate: 5, burst: 10 }), max: 1000 }),
])

async function send(user, times) {
  let passed = 0
  let refusal
  for (let i = 0; i < times; i++) {
    try {
      await api.call(() => 'hello', { key: user })
      passed++
    } catch (error) {
      if (!isRejected(error)) throw error
      refusal = error
    }
  }
  console.log(`${user}: ${passed} of ${times} passed`)
  if (refusal !== undefined)
    console.log(`  Retry-After: ${Math.ceil(refusal.retryAfterMs / 1000)}, because ${refusal.message}`)
}

await send('ann', 4)
await send('bot', 100)
await send('ben', 4)

console.log(api.inspect().layers)
