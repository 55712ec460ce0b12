import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request as send } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { deadPort, type Origin, startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'

const KB = 1024
const config = {
  balance: { picker: 'roundRobin' },
  layers: [
    { kind: 'retry', attempts: 3, backoff: { first: '1ms', atMost: '2ms' }, budget: { ratio: 1, minimum: 100 } },
  ],
  endpoint: [{ kind: 'timeout', after: '2s' }],
}

/** Tries of each test, so that each server is asked first by some. */
const tries = 6

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Tells what it got: length, how it was framed, digest. */
function careful(): Promise<Origin> {
  return startOrigin((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const all = Buffer.concat(parts)
      const { 'content-length': length = 'none' } = request.headers
      response.end(`${all.length} ${length} ${digestOf(all)}`)
    })
  })
}

/** Answers `status` when it has read the request, or resets in the middle of it. */
function bad(status: number | 'reset'): Promise<Origin> {
  return startOrigin((request, response) => {
    if (status === 'reset') return void request.once('data', () => request.socket.resetAndDestroy())
    request.resume().on('end', () => {
      response.statusCode = status
      response.end('no')
    })
  })
}

/** An upload in pieces, with a length or chunked, at a pace. */
async function upload(
  port: number,
  method: string,
  pieces: readonly Buffer[],
  { known = true, pauseMs = 0, headers = {} }: { known?: boolean; pauseMs?: number; headers?: object } = {},
): Promise<{ status: number; body: string }> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const framing = known ? { 'content-length': length } : { 'transfer-encoding': 'chunked' }
  const request = send({ host: '127.0.0.1', port, method, agent: false, headers: { ...framing, ...headers } })
  request.on('error', () => {})
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  for (const piece of pieces) {
    request.write(piece)
    if (pauseMs > 0) await pause(pauseMs)
  }
  request.end()
  const [response] = await answered
  let body = ''
  for await (const part of response) body += String(part)
  return { status: response.statusCode as number, body }
}

describe('C23: a body that is sent again', () => {
  const sizes = [1, KB, 20 * KB, 64 * KB]
  for (const fault of [503, 'reset'] as const) {
    for (const known of [true, false]) {
      test(`after ${fault}, ${known ? 'with a length' : 'chunked'}: byte for byte, with the right length`, async () => {
        const [first, good] = [await bad(fault), await careful()]
        const gateway = await startGateway({ upstreams: [first.port, good.port], config })
        for (const size of sizes) {
          const body = randomBytes(size)
          const pieces = [body.subarray(0, size >> 1), body.subarray(size >> 1)]
          for (const method of ['PUT', 'DELETE']) {
            const answer = await upload(gateway.port, method, pieces, { known, pauseMs: 5 })
            expect(answer).toEqual({ status: 200, body: `${size} ${size} ${digestOf(body)}` })
          }
        }
        expect(first.seen.length).toBeGreaterThan(0)
        await gateway.quiet()
      })
    }
  }

  test.each([
    ['with a length', true],
    ['chunked', false],
  ])('a body beyond the bound is sent once, %s', async (_name, known) => {
    const [first, good] = [await bad(503), await careful()]
    const gateway = await startGateway({ upstreams: [first.port, good.port], config })
    const statuses = new Set<number>()
    for (let i = 0; i < tries; i++) {
      const pieces = [randomBytes(64 * KB), randomBytes(1)]
      const answer = await upload(gateway.port, 'PUT', pieces, { known, pauseMs: 5 })
      statuses.add(answer.status)
      if (answer.status === 200) expect(answer.body).toMatch(new RegExp(`^65537 ${known ? 65_537 : 'none'} `))
    }
    expect(statuses).toEqual(new Set([200, 503]))
    await gateway.quiet()
  })

  test('10 MB, 503 after 1 MB: the answer of the server, and nobody else is asked', async () => {
    const first = await startOrigin((request, response) => {
      let got = 0
      request.on('data', (part: Buffer) => {
        got += part.length
        if (got > KB * KB && !response.headersSent) response.writeHead(503).end('full')
      })
    })
    const good = await careful()
    const gateway = await startGateway({ upstreams: [first.port, good.port], config })
    const pieces = Array.from({ length: 160 }, () => Buffer.alloc(64 * KB))
    const answers = [await upload(gateway.port, 'PUT', pieces), await upload(gateway.port, 'PUT', pieces)]
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]))
    expect(first.seen).toHaveLength(1)
    await gateway.quiet()
  })

  test.each([
    ['as it is', {}, {}, new Set([200, 503])],
    [
      'with a key, and a route that believes in them',
      { idempotent: 'keys' },
      { 'idempotency-key': 'k1' },
      new Set([200]),
    ],
    ['with a key alone', {}, { 'idempotency-key': 'k1' }, new Set([200, 503])],
    ['without one on that route', { idempotent: 'keys' }, {}, new Set([200, 503])],
    // The server does not get the key, so that nothing would tell it that this is the same once more.
    [
      'with a key that the client names away',
      { idempotent: 'keys' },
      { 'idempotency-key': 'k1', connection: 'close, Idempotency-Key' },
      new Set([200, 503]),
    ],
    [
      'with a key that the route takes out',
      { idempotent: 'keys', request: { remove: ['Idempotency-Key'] } },
      { 'idempotency-key': 'k1' },
      new Set([200, 503]),
    ],
    ['on a route where everything may run twice', { idempotent: 'always' }, {}, new Set([200])],
    ['where nothing is kept', { idempotent: 'always', replay: 0 }, {}, new Set([200, 503])],
  ])('POST %s', async (_name, route, headers, expected) => {
    const [first, good] = [await bad(503), await careful()]
    const gateway = await startGateway({ upstreams: [first.port, good.port], config: { ...config, routes: [route] } })
    const statuses = new Set<number>()
    for (let i = 0; i < tries; i++) {
      statuses.add((await upload(gateway.port, 'POST', [Buffer.from('pay once')], { headers })).status)
    }
    expect(statuses).toEqual(expected)
    const gets = 'idempotency-key' in headers && !('connection' in headers) && !('request' in route)
    const keys = gets ? ['k1'] : [undefined]
    for (const { headers: seen } of [...first.seen, ...good.seen]) expect(keys).toContain(seen['idempotency-key'])
    await gateway.quiet()
  })

  test('Expect: 100-continue is answered once, and the body goes to the second server', async () => {
    const [first, good] = [await bad(503), await careful()]
    const gateway = await startGateway({ upstreams: [first.port, good.port], config })
    for (let i = 0; i < tries; i++) {
      const line = await wire(
        gateway.port,
        'PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n',
      )
      await until(() => line.statuses.length === 1)
      line.write('hello')
      await until(() => line.closed)
      expect(line.statuses).toEqual([100, 200])
      expect(line.text).toContain(`5 5 ${digestOf(Buffer.from('hello'))}`)
    }
    expect(first.seen.length).toBeGreaterThan(0)
    await gateway.quiet()
  })

  test('a client that leaves while the body is tried again: every part of it is forgotten', async () => {
    const [first, second] = [await bad(503), await startOrigin((request) => void request.resume())]
    const gateway = await startGateway({ upstreams: [first.port, second.port], config })
    for (let i = 0; i < 4; i++) {
      const line = await wire(gateway.port, 'PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello')
      await until(() => second.seen.length === i + 1)
      expect((await gateway.inspect()).gateway.keptBytes).toBe(5)
      line.socket.destroy()
      await gateway.quiet()
    }
    await until(() => second.sockets.size === 0)
  })
})

describe('what is kept has a bound', () => {
  test('when it is spent bodies are streamed, and not sent again', async () => {
    const [first, good] = [await bad(503), await careful()]
    const limits = { replay: '10KiB' }
    const gateway = await startGateway({ upstreams: [first.port, good.port], config: { ...config, limits } })
    // One who has sent 8 KiB of 9, and stays.
    const head = 'PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9216\r\n\r\n'
    const slow = await wire(gateway.port, head + 'x'.repeat(8192))
    await until(async () => (await gateway.inspect()).gateway.keptBytes === 8192)
    const statuses = new Set<number>()
    for (let i = 0; i < tries; i++) statuses.add((await upload(gateway.port, 'PUT', [Buffer.alloc(4 * KB)])).status)
    expect(statuses).toEqual(new Set([200, 503]))
    // A smaller one still fits.
    for (let i = 0; i < tries; i++) {
      expect((await upload(gateway.port, 'PUT', [Buffer.alloc(KB)])).status).toBe(200)
    }
    slow.write('x'.repeat(1024))
    await until(() => slow.statuses.length === 1)
    expect(slow.statuses).toEqual([200])
    await gateway.quiet(1)
  })

  test('single bytes take no more memory than they are', async () => {
    const origin = await careful()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const bytes = randomBytes(3000)
    const pieces = [...bytes].map((byte) => Buffer.from([byte]))
    const answer = await upload(gateway.port, 'POST', pieces, { known: false })
    expect(answer.body).toBe(`3000 3000 ${digestOf(bytes)}`)
    await gateway.quiet()
  })

  test('a chunked body that is longer than the route allows: 413, and the server hears no end of it', async () => {
    let whole = 0
    const origin = await startOrigin((request) => {
      request.on('error', () => {})
      request.resume().on('end', () => whole++)
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { body: '100KiB' } } })
    for (const size of [101, 200]) {
      const pieces = Array.from({ length: size }, () => Buffer.alloc(KB))
      expect((await upload(gateway.port, 'POST', pieces, { known: false })).status).toBe(413)
    }
    expect(whole).toBe(0)
    await gateway.quiet()
  })

  test('replay: 0 streams at once: the server hears the first byte before the last is sent', async () => {
    const origin = await startOrigin((request, response) => void request.pipe(response))
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, routes: [{ replay: 0 }] } })
    const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    for (const word of ['one', 'two', 'three']) {
      line.write(`${word.length}\r\n${word}\r\n`)
      await until(() => line.text.includes(`\r\n${word}\r\n`))
    }
    line.write('0\r\n\r\n')
    await until(() => line.text.endsWith('0\r\n\r\n'))
    await gateway.quiet(1)
  })

  test('C32: 200 clients who trickle hold no connection of a server with room for 100', async () => {
    const origin = await startOrigin()
    const limits = { connections: 100 }
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits } })
    const slow = await Promise.all(
      Array.from({ length: 200 }, () =>
        wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx'),
      ),
    )
    for (let i = 0; i < 5; i++) {
      for (const line of slow) line.write('x')
      expect((await ask(gateway.port)).status).toBe(200)
    }
    const seen = await gateway.inspect()
    expect(seen.gateway.inFlight).toBe(200)
    expect(seen.upstreams[0]).toMatchObject({ active: 0 })
    expect(origin.seen).toHaveLength(5)
    for (const line of slow) line.socket.destroy()
    await gateway.quiet()
  })

  test('a body waits whole for the next server when a connection is refused', async () => {
    const good = await careful()
    const gateway = await startGateway({ upstreams: [await deadPort(), good.port], config })
    const body = randomBytes(200 * KB)
    for (let i = 0; i < tries; i++) {
      const answer = await upload(gateway.port, 'POST', [body])
      expect(answer.body).toBe(`${body.length} ${body.length} ${digestOf(body)}`)
    }
    await gateway.quiet()
  })
})

// RFC 9112, 9.3.1: a connection may be closed just when the next request is on its way.
describe('kept connections that are gone', () => {
  /** Answers the first request of each connection and breaks at the second, without a word. */
  function fickle(end: 'end' | 'destroy' | 'resetAndDestroy'): Promise<Origin> {
    return startTcp((socket) => {
      let asked = 0
      socket.on('data', () => {
        if (++asked > 1) socket[end]()
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
  }
  const once1 = { layers: [], endpoint: [{ kind: 'breaker' }] }

  test.each(['end', 'destroy', 'resetAndDestroy'] as const)('%s, 1,000 times: GET notices nothing', async (end) => {
    const origin = await fickle(end)
    const gateway = await startGateway({ upstreams: [origin.port], config: once1 })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const statuses = new Set<number>()
    for (let i = 1; i <= 1000; i++) statuses.add((await ask(gateway.port, { agent })).status)
    agent.destroy()
    expect(statuses).toEqual(new Set([200]))
    const { pipeline, upstreams } = await gateway.quiet()
    expect(pipeline.calls).toMatchObject({ success: 1000, failure: 0 })
    expect(upstreams[0]).toMatchObject({ attempts: 1000, failures: {} })
    expect(upstreams[0]?.redone).toBeGreaterThan(400)
  })

  test('PUT with its body goes once more, POST does not, and a new connection that breaks is a failure', async () => {
    const origin = await fickle('destroy')
    const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [], endpoint: [] } })
    expect((await ask(gateway.port)).status).toBe(200)
    expect((await ask(gateway.port, { method: 'PUT', body: 'x' })).status).toBe(200)
    expect((await ask(gateway.port, { method: 'POST', body: 'x' })).status).toBe(502)
    expect((await gateway.quiet()).upstreams[0]).toMatchObject({ redone: 1, failures: { reset: 1 } })
    const hostile = await startTcp((socket) => void socket.on('data', () => socket.destroy()))
    const other = await startGateway({ upstreams: [hostile.port], config: { layers: [], endpoint: [] } })
    expect((await ask(other.port)).status).toBe(502)
    expect((await other.quiet()).upstreams[0]).toMatchObject({ redone: 0, failures: { reset: 1 } })
  })

  test.each([
    ['an interim answer', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['half a head', 'HTTP/1.1 200 OK\r\nX-Half: hea'],
    ['the first byte', 'H'],
  ])('a server that has begun to answer (%s) has the request: it is not sent again by itself', async (_what, begun) => {
    const origin = await startTcp((socket) => {
      let asked = 0
      socket.on('data', () => {
        if (++asked === 1) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        socket.end(begun)
      })
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [], endpoint: [] } })
    expect((await ask(gateway.port)).status).toBe(200)
    expect((await ask(gateway.port)).status).toBe(502)
    const { upstreams } = await gateway.quiet()
    expect(upstreams[0]).toMatchObject({ redone: 0, attempts: 2 })
    expect(Object.values(upstreams[0]?.failures ?? {})).toEqual([1])
  })

  test('Keep-Alive: timeout of a server is respected', async () => {
    const origin = await startOrigin((_request, response) => {
      response.setHeader('keep-alive', 'timeout=2')
      response.end('ok')
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect((await ask(gateway.port)).status).toBe(200)
    expect(origin.sockets.size).toBe(1)
    // A second before the server would.
    await until(() => origin.sockets.size === 0, 1900)
    await gateway.quiet()
  })
})
