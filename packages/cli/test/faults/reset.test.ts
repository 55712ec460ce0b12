import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { reset } from '../../src/gateway/listener/reset.ts'
import { startGateway } from '../support/gateway.ts'
import { wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

async function accepted(use: (socket: Socket, client: Socket) => Promise<void>): Promise<void> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  socket.on('error', () => {})
  await use(socket, client)
  client.destroy()
  server.close()
  await once(server, 'close')
}

test('a connection whose end is on its way is closed all the same: it told nobody, and kept its descriptor', async () => {
  await accepted(async (socket) => {
    socket.end('the last of it')
    await until(() => socket.writableLength === 0)
    const closed = once(socket, 'close')
    reset(socket)
    await closed
    expect(socket.destroyed).toBe(true)
    // Twice is harmless.
    reset(socket)
  })
})

test('one that is in the middle of something is reset', async () => {
  await accepted(async (socket, client) => {
    const failed = once(client, 'error')
    client.resume()
    socket.write('half of ')
    await until(() => client.bytesRead > 0)
    reset(socket)
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' })
  })
})

test('HTTP/1.0 knows no 100: who expects one hears only the answer', async () => {
  const origin = await startOrigin()
  const gateway = await startGateway({ upstreams: [origin.port] })
  const line = await wire(gateway.port, 'POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n')
  await until(async () => (await gateway.inspect()).gateway.connections === 1)
  line.write('abc')
  await until(() => line.closed)
  expect(line.statuses).toEqual([200])
  expect(origin.seen[0]?.body).toBe('abc')
})
