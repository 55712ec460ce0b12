import { once } from 'node:events'
import { request as send } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { ask, wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// A client that closes its side may still listen, or may have left: TCP says the same of both.

const config = { layers: [], endpoint: [{ kind: 'bulkhead', slots: 2000 }] }

/** Sends `text`, closes its side, and answers with all that came. */
async function sayAndListen(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(text)
  const parts: Buffer[] = []
  socket.on('data', (part: Buffer) => parts.push(part))
  await once(socket, 'end')
  socket.destroy()
  return Buffer.concat(parts).toString('latin1')
}

const answers = (text: string): string[] => text.split(/(?=HTTP\/1\.1 )/).filter((one) => !one.includes(' 100 '))

describe('C32: who has closed its side', () => {
  test.each([
    ['GET', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 1],
    ['POST', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello', 1],
    ['a chunked POST', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n', 1],
    ['two requests', 'GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n', 2],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: x\r\n\r\n', 1],
  ])('%s: still gets its answer', async (_name, text, count) => {
    const origin = await startOrigin((request, response) => {
      request.resume()
      setTimeout(() => response.end('slow'), 400)
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const heard = answers(await sayAndListen(gateway.port, text))
    expect(heard).toHaveLength(count)
    for (const one of heard) expect(one).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nslow$/s)
    expect(text.includes('1.0') ? heard[0] : '').not.toContain(' 100 ')
    const seen = await gateway.quiet()
    expect(seen.gateway.clientsGone).toBe(0)
    expect(seen.pipeline.calls).toMatchObject({ success: count, ignored: 0 })
  })

  test('is asked whether it is still there, and not so often that a client would give up', async () => {
    const origin = await startOrigin((_request, response) => void setTimeout(() => response.end('slow'), 5500))
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const heard = await sayAndListen(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    const interim = heard.match(/^HTTP\/1\.1 100 Continue\r\n\r\n/gm)?.length ?? 0
    expect(interim).toBeGreaterThan(1)
    // Go's client takes five, and one of them may be one that it has asked for.
    expect(interim).toBeLessThan(5)
    expect(answers(heard)).toEqual([expect.stringMatching(/^HTTP\/1\.1 200 .*\r\n\r\nslow$/s)])
  })

  test('a long answer arrives whole', async () => {
    const origin = await startOrigin((_request, response) => response.end(Buffer.alloc(8_000_000, 'x')))
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const heard = await sayAndListen(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(heard.length).toBeGreaterThan(8_000_000)
    await gateway.quiet()
  })

  test('a long answer arrives whole however slowly it is read', async () => {
    const length = 12_000_000
    const origin = await startOrigin((_request, response) => response.end(Buffer.alloc(length, 'x')))
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true })
    let bytes = 0
    socket.on('data', (part: Buffer) => {
      bytes += part.length
    })
    socket.end('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    socket.pause()
    // Longer than a client is given that has closed its side, and to which there is nothing to say.
    await pause(4500)
    socket.resume()
    await once(socket, 'end')
    expect(bytes).toBeGreaterThan(length)
    socket.destroy()
    await gateway.quiet()
  })

  test('in the middle of its request: it will not be whole, and no server hears of it', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    for (const text of ['GET / HT', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel']) {
      await sayAndListen(gateway.port, text)
      await gateway.quiet()
    }
    expect(origin.seen).toHaveLength(0)
  })

  test('an event stream that nobody reads any more is let go', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    await until(() => origin.sockets.size === 0)
    expect((await gateway.quiet()).gateway.clientsGone).toBe(1)
  })
})

test('C32: 1,000 clients who leave before the answer: each server hears of it at once, and nothing is left', async () => {
  let closed = 0
  const origin = await startOrigin((request, response) => {
    request.on('close', () => closed++)
    setTimeout(() => response.end('late'), 15_000).unref()
  })
  const limits = { connections: 1000 }
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits } })
  for (let round = 1; round <= 4; round++) {
    const clients = Array.from({ length: 250 }, () => {
      const client = send({ host: '127.0.0.1', port: gateway.port, agent: false })
      client.on('error', () => {})
      client.end()
      return client
    })
    await until(() => origin.seen.length === 250 * round)
    for (const client of clients) client.destroy()
    await until(() => closed === 250 * round, 5000)
  }
  await until(() => origin.sockets.size === 0)
  const seen = await gateway.quiet()
  expect(seen.gateway.clientsGone).toBe(1000)
  expect(seen.pipeline.calls).toMatchObject({ ignored: 1000, failure: 0, timeout: 0, success: 0 })
  expect(seen.upstreams[0]).toMatchObject({ failures: { 'given-up': 1000 }, connections: { open: 0, waiting: 0 } })
})

test('C32: the server hears within 100 ms that a client has left: before it answers another who came then, after 100 ms', async () => {
  const heard: string[] = []
  const origin = await startOrigin((request, response) => {
    if (request.url === '/left') request.on('close', () => void heard.push('left'))
    else {
      setTimeout(() => {
        heard.push('answered')
        response.end('ok')
      }, 100)
    }
  })
  const gateway = await startGateway({ upstreams: [origin.port], config })
  // A machine that stops for a moment may change the order now and then.
  let first = 0
  for (let round = 0; round < 10; round++) {
    const line = await wire(gateway.port, 'GET /left HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => origin.seen.length === 2 * round + 1)
    line.socket.destroy()
    await ask(gateway.port)
    await until(() => heard.length === 2 * round + 2)
    if (heard[2 * round] === 'left') first++
  }
  expect(first).toBeGreaterThan(5)
  await gateway.quiet()
})
