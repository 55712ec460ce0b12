import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'undici'
import { describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { deadPort, startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'
import { echo, frame, handshake, KEY, mirror, yes } from './support/websocket.ts'

const config = {
  layers: [],
  endpoint: [
    { kind: 'bulkhead', slots: 2000 },
    { kind: 'timeout', after: '500ms' },
  ],
}

/** No tunnel either. */
async function quiet(gateway: Gateway): Promise<void> {
  const seen = await gateway.quiet()
  expect(seen.gateway.upgrades.open).toBe(0)
}

async function socketTo({ port }: Gateway, protocols: string[] = []): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/chat?room=1`, protocols)
  socket.binaryType = 'arraybuffer'
  await once(socket, 'open')
  return socket
}

async function messageOf(socket: WebSocket): Promise<string | Buffer> {
  const [{ data }] = (await once(socket, 'message')) as [{ data: string | ArrayBuffer }]
  return typeof data === 'string' ? data : Buffer.from(data)
}

describe('a WebSocket', () => {
  test('speaks through the gateway, both ways, and closes', async () => {
    let seen: Record<string, unknown> = {}
    const origin = await startOrigin(undefined, 0, (request, socket, head) => {
      seen = { url: request.url, ...request.headers }
      echo(request, socket, head)
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const socket = await socketTo(gateway, ['chat.v2', 'chat'])
    expect(socket.protocol).toBe('chat.v2')
    expect(seen).toMatchObject({
      url: '/chat?room=1',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': expect.stringContaining('chat.v2'),
      'x-forwarded-for': '127.0.0.1',
      via: '1.1 floodwall',
    })
    const big = Buffer.alloc(300_000, 'ab')
    for (const [said, heard] of [
      ['hello', 'hello'],
      ['', ''],
      [big, big],
    ] as const) {
      socket.send(said)
      expect(await messageOf(socket)).toEqual(heard)
    }
    const during = await gateway.inspect()
    expect(during.gateway).toMatchObject({ inFlight: 0, upgrades: { open: 1, opened: 1 } })
    expect(during.gateway.upgrades.toServers).toBeGreaterThan(300_000)
    expect(during.gateway.upgrades.toClients).toBeGreaterThan(300_000)
    expect(during.upstreams[0]).toMatchObject({ active: 1 })
    socket.close(4001, 'enough')
    const [{ code, reason }] = (await once(socket, 'close')) as [{ code: number; reason: string }]
    expect({ code, reason }).toEqual({ code: 4001, reason: 'enough' })
    await until(() => origin.sockets.size === 0)
    await quiet(gateway)
  })

  test('C33: the first bytes behind the answer, and behind the request, are not lost', async () => {
    let heard = ''
    const origin = await startOrigin(undefined, 0, (request, socket, head) => {
      socket.on('error', () => {})
      const hear = (bytes: Buffer): void => {
        heard += bytes.toString()
      }
      hear(head)
      socket.on('data', hear).on('end', () => socket.end())
      socket.write(yes(request.headers['sec-websocket-key'] as string, [], frame('first')))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, Buffer.concat([Buffer.from(handshake()), Buffer.from('early')]))
    await until(() => line.text.endsWith('first') && heard === 'early')
    expect(line.text).toMatch(/^HTTP\/1\.1 101 .*\r\nUpgrade: websocket\r\n/is)
    line.write(' late')
    await until(() => heard === 'early late')
    line.socket.destroy()
    await until(() => origin.sockets.size === 0)
    await quiet(gateway)
  })

  test('100 MB pass both ways at once, and a side that does not read holds the other back', async () => {
    const origin = await startOrigin(undefined, 0, mirror)
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write(handshake())
    await once(socket, 'data')
    socket.pause()
    const block = frame(Buffer.alloc(65_520, 'x'))
    const total = 1600
    let sent = 0
    const push = (): void => {
      for (let room = true; sent < total && room; sent++) room = socket.write(block)
    }
    socket.on('drain', push)
    push()
    let before = -1
    await until(async () => {
      const same = sent === before
      before = sent
      await pause(300)
      return same
    })
    // Neither the gateway nor the server has swallowed what nobody reads.
    expect(sent).toBeLessThan(total)
    let heard = 0
    socket.on('data', (bytes) => {
      heard += bytes.length
    })
    socket.resume()
    await until(() => heard === total * block.length)
    const { open, toServers, toClients } = (await gateway.inspect()).gateway.upgrades
    expect({ open, toServers, toClients }).toEqual({ open: 1, toServers: heard, toClients: heard })
    socket.destroy()
    await quiet(gateway)
  })
})

test('a length that the server adds to its 101 is not passed on: what follows is no body', async () => {
  const origin = await startTcp(
    (socket) => void socket.once('data', () => socket.write(yes(KEY, ['Content-Length: 0']))),
  )
  const gateway = await startGateway({ upstreams: [origin.port], config })
  const line = await wire(gateway.port, handshake())
  await until(() => line.statuses[0] === 101)
  expect(line.text).not.toMatch(/content-length/i)
  line.socket.destroy()
  await quiet(gateway)
})

describe('C33: an offer that is not taken', () => {
  test.each([
    [404, 'HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\nX-Mine: 1\r\n\r\nno here'],
    [200, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Mine: 1\r\n\r\n7\r\nno here\r\n0\r\n\r\n'],
    [426, 'HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nX-Mine: 1\r\n\r\nno here'],
    [302, 'HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 7\r\nX-Mine: 1\r\n\r\nno here'],
  ])('%i: status, headers and body reach the client, and both connections end', async (status, answer) => {
    const origin = await startTcp((socket) => {
      socket.on('error', () => {})
      socket.once('data', () =>
        answer.includes('Length') || answer.includes('chunked') ? socket.write(answer) : socket.end(answer),
      )
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, handshake())
    await until(() => line.closed)
    expect(line.statuses).toEqual([status])
    expect(line.text).toMatch(/x-mine: 1\r\n/i)
    expect(line.text).toMatch(/connection: close\r\n/i)
    expect(line.text).toMatch(/no here/)
    await until(() => origin.sockets.size === 0)
    await quiet(gateway)
  })

  test('a large refusal waits for a client that reads slowly', async () => {
    const origin = await startOrigin(undefined, 0, (_request, socket) => {
      socket.on('error', () => {})
      socket.write(`HTTP/1.1 403 Forbidden\r\nContent-Length: 8000000\r\n\r\n`)
      socket.end(Buffer.alloc(8_000_000, 'n'))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, handshake())
    line.socket.pause()
    await pause(300)
    line.socket.resume()
    await until(() => line.closed)
    expect(line.text.length).toBeGreaterThan(8_000_000)
    await quiet(gateway)
  })

  test.each<[string, (socket: Socket) => void, number, string]>([
    ['closes', (socket) => void socket.destroy(), 502, 'upstream-reset'],
    ['resets', (socket) => void socket.resetAndDestroy(), 502, 'upstream-reset'],
    ['never answers', () => {}, 504, 'upstream-timeout'],
    [
      'says yes to somebody else',
      (socket) => void socket.write(yes('AAAAAAAAAAAAAAAAAAAAAA==')),
      502,
      'upstream-invalid',
    ],
    [
      'changes to something else',
      (socket) => void socket.write('HTTP/1.1 101 x\r\nUpgrade: irc\r\nConnection: upgrade\r\n\r\n'),
      502,
      'upstream-invalid',
    ],
    ['says 101 and no more', (socket) => void socket.write('HTTP/1.1 101 x\r\n\r\n'), 502, 'upstream-invalid'],
  ])('the server %s', async (_name, act, status, code) => {
    const origin = await startTcp((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => act(socket))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, handshake())
    await until(() => line.closed)
    expect(line.statuses).toEqual([status])
    expect(line.text).toContain(`"code":"${code}"`)
    await until(() => origin.sockets.size === 0)
    await quiet(gateway)
  })

  test('the client leaves before the answer: the server hears of it', async () => {
    const origin = await startOrigin(undefined, 0, (_request, socket) => {
      socket.on('error', () => {}).on('end', () => socket.end())
      socket.resume()
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, endpoint: [] } })
    const line = await wire(gateway.port, handshake())
    await until(() => origin.sockets.size === 1)
    line.socket.destroy()
    await until(() => origin.sockets.size === 0)
    await quiet(gateway)
  })

  test('an offer goes to the next server when the first one is not there', async () => {
    const origin = await startOrigin(undefined, 0, echo)
    const upstreams = [await deadPort(), origin.port]
    const gateway = await startGateway({
      upstreams,
      config: { layers: [{ kind: 'retry', backoff: { first: '1ms' } }] },
    })
    for (let i = 0; i < 4; i++) {
      const socket = await socketTo(gateway)
      socket.send('x')
      expect(await messageOf(socket)).toBe('x')
      socket.close()
      await once(socket, 'close')
    }
    await quiet(gateway)
  })

  test('1,000 refused and 1,000 opened and closed leave nothing', { timeout: 60_000 }, async () => {
    const origin = await startOrigin(undefined, 0, (request, socket, head) => {
      if (request.url !== '/no') return mirror(request, socket, head)
      socket.on('error', () => {})
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    for (let i = 0; i < 40; i++) {
      const lines = await Promise.all(
        Array.from({ length: 50 }, (_, n) => wire(gateway.port, handshake([], n % 2 === 0 ? '/no' : '/yes'))),
      )
      await until(() => lines.every((line) => line.statuses.length === 1))
      expect(lines.filter((line) => line.statuses[0] === 101)).toHaveLength(25)
      for (const line of lines) line.socket.destroy()
    }
    await until(() => origin.sockets.size === 0)
    await quiet(gateway)
    expect((await gateway.inspect()).gateway.upgrades.opened).toBe(1000)
    expect(gateway.cli.stderr).toBe('')
  })
})
