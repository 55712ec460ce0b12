import type { Socket } from 'node:net'
import {
  Cluster,
  type Duration,
  deadline,
  envOf,
  isTimeout,
  type Layer,
  pipeline,
  systemRuntime,
  timeout,
} from 'floodwall'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { client } from '../../src/client/index.ts'
import { tcp } from './support/servers.ts'

// Upstreams that accept a connection and do not get on with it: connect, first byte, the time between bytes and the whole have an end.

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n'

const hanging: readonly (readonly [string, (socket: Socket) => void, 'head' | 'body' | 'tls'])[] = [
  ['accept and never answer', () => {}, 'head'],
  ['send headers and then nothing', (socket) => socket.once('data', () => socket.write(HEAD)), 'body'],
  [
    'send a byte now and then',
    (socket) => {
      socket.once('data', () => {
        socket.write(HEAD)
        const drip = setInterval(() => socket.write('.'), 20)
        socket.on('close', () => clearInterval(drip))
      })
    },
    'body',
  ],
  ['never finish the TLS handshake', () => {}, 'tls'],
]

type Way = 'fetch' | 'request'

/** A call by an operation that has `within`, which reads the whole body. */
async function calling(
  way: Way,
  onSocket: (socket: Socket) => void,
  secure: boolean,
  layers: readonly Layer[],
  within: Duration = '1s',
) {
  // Of the sockets that something was asked on, those that are open: undici keeps a fresh one ready besides.
  const asked = new Set<Socket>()
  const server = await tcp((socket) => {
    socket.once('data', () => {
      asked.add(socket)
      socket.on('close', () => asked.delete(socket))
    })
    onSocket(socket)
  })
  await import('undici')
  const cluster = new Cluster({ slowStart: 0 }, envOf(systemRuntime, 'shop'))
  cluster.update([{ id: server.id, address: `http${secure ? 's' : ''}://${server.id}` }])
  const shop = client('shop', cluster, layers, { drain: 1 })
  onTestFinished(() => shop.close())
  const operation = pipeline('operation', [deadline({ within })])
  let head = false
  const error: unknown = await operation
    .call(async (parent) => {
      if (way === 'fetch') {
        const response = await shop.fetch('/', { parent })
        head = true
        return response.text()
      }
      const { body } = await shop.request({ path: '/', parent })
      head = true
      return body.text()
    })
    .catch((e: unknown) => e)
  const left = () => ({ asked: asked.size, inFlight: cluster.members[0]?.inFlight })
  const closed = async () => {
    await shop.close()
    await vi.waitFor(() => expect(server.connections()).toBe(0), 10_000)
  }
  return { error, head, left, closed }
}

describe.each<Way>(['fetch', 'request'])('C19 %s to upstreams that', (way) => {
  test.each(hanging)('%s: ends, with its sockets', async (_, onSocket, stage) => {
    const after = stage === 'body' ? '20s' : '200ms'
    const { error, head, left, closed } = await calling(
      way,
      onSocket,
      stage === 'tls',
      [timeout({ after })],
      // Time enough for the head, also beside other work.
      stage === 'body' ? '5s' : '1s',
    )
    expect(head).toBe(stage === 'body')
    if (stage === 'tls') expect(JSON.stringify(error, ['code', 'cause'])).toContain('ETIMEDOUT')
    else expect([isTimeout(error), error]).toMatchObject([true, { code: stage === 'head' ? 'timeout' : 'deadline' }])
    await vi.waitFor(() => expect(left()).toEqual({ asked: 0, inFlight: 0 }), 10_000)
    await closed()
  })

  test('hang with an attempt that has more time than its operation: the deadline ends it', async () => {
    for (const secure of [false, true]) {
      const { error, left, closed } = await calling(way, () => {}, secure, [timeout({ after: '20s' })])
      expect([isTimeout(error), error]).toMatchObject([true, { code: 'deadline' }])
      await vi.waitFor(() => expect(left()).toEqual({ asked: 0, inFlight: 0 }), 10_000)
      await closed()
    }
  })

  test('never finish the TLS handshake: a caller who leaves takes the connection with him, unless others wait for it', async () => {
    const server = await tcp(() => {})
    await import('undici')
    const cluster = new Cluster({ slowStart: 0 }, envOf(systemRuntime, 'shop'))
    cluster.update([{ id: server.id, address: `https://${server.id}` }])
    const options = { drain: 1, connectTimeout: '1h', pool: { connections: 1 } } as const
    const shop = client('shop', cluster, [timeout({ after: '20s' })], options)
    onTestFinished(() => shop.close())
    const leaving = () => {
      const aborter = new AbortController()
      const { signal } = aborter
      const call = way === 'fetch' ? shop.fetch('/', { signal }) : shop.request({ path: '/', signal })
      return { left: expect(call).rejects.toThrow('I have left'), leave: () => aborter.abort(new Error('I have left')) }
    }
    const [first, second] = [leaving(), leaving()]
    await vi.waitFor(() => expect(server.connections()).toBe(1), 10_000)
    first.leave()
    await first.left
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(server.connections()).toBe(1)
    second.leave()
    await second.left
    await vi.waitFor(() => expect(server.connections()).toBe(0), 10_000)
    // It was nobody's fault, and the next one has a connection of his own.
    expect(cluster.members[0]).toMatchObject({ isolated: false, inFlight: 0 })
    const third = leaving()
    await vi.waitFor(() => expect(server.connections()).toBe(1), 10_000)
    third.leave()
    await third.left
  })
})
