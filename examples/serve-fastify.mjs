// Fastify 5: a plugin. Each user has a rate of his own, and what matters little goes first.
import fastify from 'fastify'
import { bulkhead, keyed, pipeline, rateLimit } from 'floodwall'
import { callOf, protect } from 'floodwall/fastify'

const door = pipeline('door', [
  keyed({ of: rateLimit({ rate: 60, per: '1m', burst: 3 }) }), // each user
  bulkhead({ slots: 100 }), // all together
])
const guard = protect(door, {
  key: (request) => String(request.headers['x-user'] ?? ''),
  trust: ['127.0.0.1'],
  format: 'google',
  ambient: true,
})

const app = fastify({ forceCloseConnections: true })
await app.register(guard)
app.setErrorHandler(guard.errors)
app.get('/items/:id', async (request) => {
  const { method, criticality, remainingMs } = callOf(request)
  return { method, criticality, hurry: remainingMs < 1000 }
})
await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())

async function ask(user, headers = {}) {
  const answer = await fetch(`http://127.0.0.1:${port}/items/7`, { headers: { 'x-user': user, ...headers } })
  const body = /** @type {{ error?: { status: string } }} */ (await answer.json())
  console.log(`${user}: ${answer.status} ${answer.ok ? JSON.stringify(body) : body.error?.status}`)
}

await ask('ann', { 'x-floodwall-timeout-ms': '800', 'x-floodwall-criticality': 'SHEDDABLE' })
for (let i = 0; i < 4; i++) await ask('bot')
await ask('ann')

const calls = /** @type {Record<string, number>} */ (door.inspect().calls)
console.log(`answered ${calls.success}, refused ${calls.refused}`)
await guard.close()
await app.close()
