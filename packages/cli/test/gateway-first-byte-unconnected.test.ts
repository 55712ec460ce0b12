import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { certificate } from './support/certificates.ts'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin, startTcp } from './support/origin.ts'
import { startSecureOrigin } from './support/tls.ts'

// The time to the first byte is the server's: it does not run while there is no connection on which it could be asked.

/** What stands before `port`, so far away that what it says is heard `ms` later. */
async function far(port: number, ms: number): Promise<number> {
  const relay = await startTcp((client) => {
    const server = connect(port, '127.0.0.1')
    client.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => client.destroy())
    server.on('data', (piece) => void setTimeout(() => client.write(piece), ms))
  })
  return relay.port
}

test('a connection that has to be made: the handshake has its own limit, and then the server has all of its time', async () => {
  const { cert, key } = certificate('far')
  const origin = await startSecureOrigin({ cert, key })
  const port = await far(origin.port, 700)
  const gateway = await startGateway({
    upstreams: [],
    config: {
      ...{ upstreams: undefined, timeout: '1s', limits: { connect: '10s' }, layers: [], endpoint: [] },
      clusters: { default: { endpoints: [`https://127.0.0.1:${port}`], tls: { insecure: true } } },
    },
  })
  // 0.7 s for the handshake and as much for the answer.
  expect((await ask(gateway.port)).status).toBe(200)
  expect((await ask(gateway.port)).status).toBe(200)
})

test('a connection that others have: who waits for it is not too slow', async () => {
  const origin = await startOrigin((request, response) => {
    request.resume()
    if (request.url !== '/long') return void response.end('short')
    response.write('begins')
    setTimeout(() => response.end(), 600)
  })
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { timeout: '300ms', limits: { connections: 1 }, layers: [], endpoint: [] },
  })
  const answers = await Promise.all([ask(gateway.port, { path: '/long' }), ask(gateway.port), ask(gateway.port)])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
})

test('a server that is there and silent has no more time on a new connection than on a kept one', async () => {
  const origin = await startOrigin((request, response) => {
    request.resume()
    if (request.url === '/fast') response.end('fast')
  })
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { timeout: '200ms', layers: [], endpoint: [] },
  })
  const late = async () => {
    const since = performance.now()
    expect((await ask(gateway.port)).status).toBe(504)
    return performance.now() - since
  }
  const anew = await late()
  expect((await ask(gateway.port, { path: '/fast' })).status).toBe(200)
  const kept = await late()
  // The time of an intake would be 5 s.
  expect(Math.max(anew, kept)).toBeLessThan(4000)
})
