import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { MOST_UNDER_WAY } from '../../src/gateway/listener/intake.ts'
import { startGateway } from '../support/gateway.ts'
import { wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// Clients that do not wait for answers.

const config = { layers: [], endpoint: [] }
const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

test('a connection has so many requests under way and no more, and all are answered in the end', async () => {
  const waiting: (() => void)[] = []
  const origin = await startOrigin((_request, response) => void waiting.push(() => response.end('x')))
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { connections: 1000 } } })
  const line = await wire(gateway.port)
  // In packets of their own: what is left of a packet when the reading stops is parsed to its end.
  const all = 3 * MOST_UNDER_WAY
  for (let i = 0; i < all; i++) {
    line.write(get)
    await pause(1)
  }
  await until(async () => (await gateway.inspect()).gateway.inFlight >= MOST_UNDER_WAY)
  await pause(50)
  expect((await gateway.inspect()).gateway.inFlight).toBeLessThan(MOST_UNDER_WAY + 20)
  await until(() => {
    for (const answer of waiting.splice(0)) answer()
    return line.statuses.length === all
  })
  line.socket.destroy()
  await gateway.quiet()
})

test('a hundred thousand at once are not a hundred thousand in flight', async () => {
  const origin = await startOrigin(() => {})
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { connections: 100 } } })
  const line = await wire(gateway.port)
  line.write(get.repeat(100_000))
  await until(async () => (await gateway.inspect()).gateway.inFlight >= MOST_UNDER_WAY)
  await pause(100)
  // One packet at most is parsed to its end: 64 KiB.
  expect((await gateway.inspect()).gateway.inFlight).toBeLessThan(MOST_UNDER_WAY + 65_536 / get.length + 1)
  line.socket.destroy()
  await gateway.quiet()
})

test.each([
  ['said that it was his last', `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
  ['was refused and told so', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
])('who goes on sending after a request that %s is not read', async (_how, last) => {
  const origin = await startOrigin(() => {})
  const gateway = await startGateway({ upstreams: [origin.port], config })
  const line = await wire(gateway.port, `${get}${last}`)
  await until(() => origin.seen.length > 0)
  const sent = get.repeat(1_000_000)
  line.write(sent)
  await pause(500)
  // Buffers of the kernel take some megabytes; the rest stays with its sender, and none of it reaches the server.
  expect(line.closed || line.socket.writableLength > sent.length / 2).toBe(true)
  expect(origin.seen.length).toBeLessThanOrEqual(2)
  line.socket.destroy()
  await gateway.quiet()
})
