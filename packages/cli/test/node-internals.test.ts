import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectSecurely, createServer as createSecureServer } from 'node:tls'
import { expect, test } from 'vitest'
import { carrierOf, packetOn, tcpIsOver, writingOn } from '../src/gateway/listener/node-internals.ts'
import { certificate } from './support/certificates.ts'
import { later } from './support/cleanup.ts'
import { until } from './support/until.ts'

// What the gateway knows of node:http and node:tls that they do not promise. Each version of Node has to pass.

const get = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'

interface Served {
  readonly port: number
  readonly heard: [request: IncomingMessage, response: ServerResponse, packet: Buffer | undefined][]
}

async function serve(): Promise<Served> {
  const heard: Served['heard'] = []
  const server = createServer((request, response) => {
    heard.push([request, response, packetOn(request.socket)])
  }).listen(0, '127.0.0.1')
  later(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, heard }
}

async function client(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  later(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

test('the answer that is being written is the one whose turn it is, until its last byte is with the system', async () => {
  const { port, heard } = await serve()
  const theirs = await client(port, get + get)
  await until(() => heard.length === 2)
  const [[request, first], [, second]] = heard as [Served['heard'][0], Served['heard'][0]]
  expect(writingOn(request.socket)).toBe(first)
  second.end('second')
  expect(writingOn(request.socket)).toBe(first)
  theirs.pause()
  first.end(Buffer.alloc(8_000_000))
  expect(writingOn(request.socket)).toBe(first)
  expect(first.writableEnded).toBe(true)
  theirs.resume()
  await until(() => writingOn(request.socket) === null)
  expect(second.writableFinished).toBe(true)
})

test('the packet that is being parsed is there while a head is told of', async () => {
  const { port, heard } = await serve()
  await client(port, 'GET /x RTSP/1.0\r\nHost: x\r\n\r\n')
  await until(() => heard.length === 1)
  const [[, , packet]] = heard as [Served['heard'][0]]
  expect(packet?.toString()).toContain('GET /x RTSP/1.0')
})

test('reading follows the events of pause and resume, and answers cannot start it while it is held', async () => {
  const { port, heard } = await serve()
  const theirs = await client(port, get)
  await until(() => heard.length === 1)
  const [[request, response]] = heard as [Served['heard'][0]]
  const { socket } = request
  const read = socket.bytesRead
  socket.resume = () => socket
  socket.pause()
  socket.emit('pause')
  theirs.write(get)
  response.end('x')
  await once(theirs, 'data')
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(socket.bytesRead).toBe(read)
  Reflect.deleteProperty(socket, 'resume')
  socket.resume()
  await until(() => heard.length === 2)
})

test.each([
  ['with a goodbye', false],
  ['without', true],
])('an end of TLS %s: whether TCP has ended first', async (_how, bare) => {
  const server = createSecureServer(certificate('ends'), (secure) => {
    secure.on('error', () => {})
    secure.once('data', () => secure.write(Buffer.alloc(100_000), () => (bare ? secure.destroy() : secure.end())))
  }).listen(0, '127.0.0.1')
  later(() => server.close())
  await once(server, 'listening')
  // Who reads slowly makes Node stop in the middle of what comes: the goodbye is told of all the same.
  for (const slow of [false, true]) {
    const theirs = connectSecurely({ port: (server.address() as AddressInfo).port, rejectUnauthorized: false })
    later(() => void theirs.destroy())
    const told: boolean[] = []
    const { push } = theirs
    theirs.push = (piece: unknown, encoding?: BufferEncoding) => {
      if (piece === null) told.push(tcpIsOver(theirs as object))
      return push.call(theirs, piece, encoding)
    }
    await once(theirs, 'secureConnect')
    theirs.write('x')
    if (slow) await new Promise((resolve) => setTimeout(resolve, 100))
    theirs.resume()
    await once(theirs, 'end')
    expect(told[0]).toBe(bare)
    theirs.destroy()
  }
})

test('of a handshake that came to nothing the connection beneath is known', async () => {
  const { cert, key } = certificate('x')
  const server = createSecureServer({ cert, key }).listen(0, '127.0.0.1')
  later(() => void server.close())
  await once(server, 'listening')
  const taken: Socket[] = []
  server.on('connection', (socket: Socket) => {
    taken.push(socket)
    socket.destroy()
  })
  const failed = once(server, 'tlsClientError')
  await client((server.address() as AddressInfo).port, 'x').catch(() => {})
  const [, socket] = (await failed) as [Error, Socket]
  expect(carrierOf(socket)).toBe(taken[0])
})
