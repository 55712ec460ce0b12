import { expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'

// A hedge as a layer of a route: two requests to two servers for one of a client, of which one answer is passed on.

const config = {
  balance: { picker: 'roundRobin' },
  layers: [
    { kind: 'deadline', within: '20s' },
    { kind: 'hedge', after: '20ms', budget: { ratio: 1, minimum: 100 } },
  ],
  endpoint: [{ kind: 'timeout', after: '20s' }],
}

/** Takes each request, and never answers. */
const silent = () => startOrigin((request) => void request.resume())

test.each([
  ['GET', undefined],
  ['PUT', 'all of it'],
])('%s is answered by the server that answers, with its body sent to both', async (method, body) => {
  const [mute, good] = [await silent(), await startOrigin()]
  const gateway = await startGateway({ upstreams: [mute.port, good.port], config })
  for (let i = 0; i < 6; i++) {
    const answer = await ask(gateway.port, { method, ...(body === undefined ? {} : { body }) })
    expect(answer.status).toBe(200)
  }
  expect(good.seen.length).toBeGreaterThanOrEqual(6)
  // Some were sent to the silent one first.
  expect(mute.seen.length).toBeGreaterThan(0)
  for (const seen of good.seen) expect(seen.body).toBe(body ?? '')
  // Nothing of the attempts that lost is left.
  await gateway.quiet()
})

test('POST is sent once', async () => {
  const [slow, good] = [
    await startOrigin((request, response) => {
      request.resume()
      setTimeout(() => response.end('late'), 100)
    }),
    await startOrigin(),
  ]
  const gateway = await startGateway({ upstreams: [slow.port, good.port], config })
  for (let i = 0; i < 4; i++) await ask(gateway.port, { method: 'POST', body: 'pay once' })
  expect(slow.seen.length + good.seen.length).toBe(4)
  await gateway.quiet()
})
