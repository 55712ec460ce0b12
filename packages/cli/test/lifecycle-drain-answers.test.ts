import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { configFile, startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// What becomes of answers that are on their way when the gateway stops.

const bare = { layers: [], endpoint: [], drainDelay: '0s' }

test('C39: answers that a slow client has not taken yet reach it, whole', async () => {
  const body = 'x'.repeat(60_000)
  const origin = await startOrigin((_request, response) => response.end(body))
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...bare, drain: '60s' } })
  const line = await wire(gateway.port)
  line.socket.pause()
  // More than the buffers of the system hold, so that some are still with the gateway, which has nothing to wait for but this client.
  const count = 90
  line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(count))
  await until(async () => {
    const { gateway: facts } = await gateway.inspect()
    return facts.requests['2xx'] === count && facts.inFlight === 0
  })
  gateway.cli.kill('SIGTERM')
  await until(() => gateway.log.some(({ msg }) => msg === 'draining'))
  // Idle connections are closed after half a second.
  await pause(1000)
  line.socket.resume()
  expect((await gateway.cli.finished()).code).toBe(0)
  await until(() => line.closed)
  expect(line.statuses).toHaveLength(count)
  expect(line.text.length).toBeGreaterThan(count * body.length)
})

test('C39: an answer that is cut is no end that looks like one, and has a line in the access log', async () => {
  const origin = await startOrigin((_request, response) => void response.write('half'))
  const to = join(dirname(configFile('', 'unused')), 'access.log')
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { ...bare, drain: '500ms', accessLog: { to } },
  })
  // In HTTP/1.0 the end of the connection is the end of the body.
  const clients = Array.from({ length: 200 }, () => {
    const socket = connect(gateway.port, '127.0.0.1', () => socket.write('GET / HTTP/1.0\r\n\r\n'))
    const ended = once(socket, 'end').then(
      () => 'an end',
      (error: NodeJS.ErrnoException) => error.code,
    )
    return { ended, begun: once(socket, 'data') }
  })
  await Promise.all(clients.map(({ begun }) => begun))
  gateway.cli.kill('SIGTERM')
  const ends = await Promise.all(clients.map(({ ended }) => ended))
  expect(new Set(ends)).toEqual(new Set(['ECONNRESET']))
  const { code, stderr } = await gateway.cli.finished()
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  const lines = readFileSync(to, 'utf8').trim().split('\n')
  expect(lines).toHaveLength(clients.length)
  for (const line of lines) expect(line).toContain('"cut":true')
})
