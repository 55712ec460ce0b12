import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { expect, test } from 'vitest'
import { certificate } from './support/certificates.ts'
import { later } from './support/cleanup.ts'
import { configFile, type Gateway, startGateway } from './support/gateway.ts'
import type { Upgrader } from './support/origin.ts'
import { filesOf, wireTls } from './support/tls.ts'
import { until } from './support/until.ts'
import { frame, framesIn, handshake, mirror, yes } from './support/websocket.ts'

// wss on both sides of the gateway.

const authority = certificate('authority', { authority: true })
const { cert: ca } = authority
const site = certificate('site', { by: authority })

async function start(upgrader: Upgrader): Promise<{ readonly gateway: Gateway; readonly sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  const server = createServer({ cert: site.cert, key: site.key }, (request, response) => {
    request.resume().on('end', () => setTimeout(() => response.end('ok'), 100))
  })
  server.on('upgrade', (request, socket, head) => {
    socket.allowHalfOpen = true
    upgrader(request, socket as Socket, head)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const inner = { endpoints: [`https://localhost:${port}`], tls: { ca: configFile(ca, 'ca.pem') } }
  const gateway = await startGateway({
    upstreams: [],
    config: {
      upstreams: undefined,
      tls: filesOf(site),
      clusters: { inner },
      routes: [{ cluster: 'inner' }],
      layers: [],
    },
  })
  return { gateway, sockets }
}

/** A connection in TLS, and all that came on it. */
async function listenOn(gateway: Gateway, text: string): Promise<{ readonly socket: TLSSocket; heard: Buffer }> {
  const socket = await wireTls(gateway.port, { ca, allowHalfOpen: true } as ConnectionOptions)
  socket.on('end', () => socket.end())
  const line = { socket, heard: Buffer.alloc(0) }
  socket.on('data', (part: Buffer) => {
    line.heard = Buffer.concat([line.heard, part])
  })
  socket.write(text)
  return line
}

test('a WebSocket passes through TLS on both sides, half-closes, and leaves nothing', async () => {
  const { gateway, sockets } = await start(mirror)
  const line = await listenOn(gateway, handshake())
  await until(() => line.heard.includes('\r\n\r\n'))
  const big = Buffer.alloc(3_000_000, 'z')
  const start1 = line.heard.length
  line.socket.write(big)
  await until(() => line.heard.length === start1 + big.length)
  line.socket.end('last words')
  await until(() => line.heard.toString('latin1').endsWith('last words') && line.socket.destroyed)
  await until(() => sockets.size === 0)
  expect((await gateway.quiet()).gateway.upgrades).toMatchObject({ open: 0, opened: 1 })
})

test('the server breaks: the client does not wait', async () => {
  const { gateway } = await start((request, socket) => {
    socket.write(yes(request.headers['sec-websocket-key'] as string))
    setTimeout(() => socket.destroy(), 200)
  })
  const line = await listenOn(gateway, handshake())
  await once(line.socket, 'close')
  expect(line.heard.toString()).toMatch(/^HTTP\/1\.1 101 /)
  await gateway.quiet()
})

test('C39: a goodbye in TLS; and an offer that is ignored is served on the same connection', async () => {
  const { gateway } = await start(mirror)
  const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'
  const plain = await listenOn(gateway, `POST / HTTP/1.1\r\nHost: x\r\n${offer}Content-Length: 2\r\n\r\nhi`)
  await until(() => plain.heard.toString().endsWith('ok'))
  plain.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => (plain.heard.toString().match(/200 OK/g) ?? []).length === 2)
  plain.socket.destroy()
  const line = await listenOn(gateway, handshake())
  await until(() => line.heard.includes('\r\n\r\n'))
  const head = line.heard.length
  gateway.cli.kill('SIGTERM')
  await until(() => line.heard.length > head)
  const { frames } = framesIn(line.heard.subarray(head))
  expect(frames[0]).toMatchObject({ opcode: 8 })
  line.socket.write(frame(Buffer.from([3, 0xe9]), { opcode: 8, mask: Buffer.from([1, 2, 3, 4]) }))
  expect((await gateway.cli.finished()).code).toBe(0)
})

test('C32: who closes its side in TLS still gets its answer; who leaves is let go', async () => {
  const { gateway, sockets } = await start(mirror)
  const line = await listenOn(gateway, '')
  line.socket.end('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(line.socket, 'close')
  expect(line.heard.toString()).toMatch(/HTTP\/1\.1 200 OK\r\n.*ok$/s)
  await until(() => sockets.size <= 1)
  const other = await listenOn(gateway, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(async () => (await gateway.inspect()).gateway.inFlight === 1)
  other.socket.destroy()
  await gateway.quiet()
})
