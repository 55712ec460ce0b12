import type { Socket } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { type Answer, ask, wire } from './support/http.ts'
import { deadPort, type Origin, startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'

/** Every upstream of this table is a server that answers each request with these bytes, or with an action. */
const faults: readonly (readonly [
  name: string,
  act: string | ((socket: Socket) => void),
  status: number,
  code: string,
])[] = [
  ['closes before it answers', (socket) => void socket.destroy(), 502, 'upstream-reset'],
  ['resets before it answers', (socket) => void socket.resetAndDestroy(), 502, 'upstream-reset'],
  ['closes within the head', (socket) => void socket.end('HTTP/1.1 200 OK\r\nX-A'), 502, 'upstream-reset'],
  ['speaks another protocol', '220 smtp.test ready\r\n', 502, 'upstream-invalid'],
  ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 502, 'upstream-invalid'],
  [
    'has a length and chunks',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    502,
    'upstream-invalid',
  ],
  ['has too large a head', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 502, 'upstream-invalid'],
  [
    'upgrades unasked',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    502,
    'upstream-invalid',
  ],
  ['never answers', () => {}, 504, 'upstream-timeout'],
]

function expectProblem(answer: Answer, status: number, code: string): void {
  expect(answer.status).toBe(status)
  expect(answer.headers['content-type']).toBe('application/problem+json')
  expect(JSON.parse(answer.body)).toEqual({
    type: `urn:floodwall:problem:${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    code,
    requestId: expect.stringMatching(/^[\w-]+$/),
    ...(code === 'rate' && { retryAfterMs: expect.any(Number) }),
  })
  expect(answer.body).not.toMatch(/127\.0\.0\.1|ECONN|UND_ERR|undici|node:|stack/)
}

async function withoutRetry(port: number, config: object = {}): Promise<Gateway> {
  return startGateway({
    upstreams: [port],
    config: { layers: [], endpoint: [{ kind: 'timeout', after: '500ms' }], ...config },
  })
}

describe('what the client is told', () => {
  test.each(faults)('the upstream %s', async (_name, act, status, code) => {
    const origin = await startTcp((socket) => {
      socket.on('data', () => (typeof act === 'string' ? socket.write(act) : act(socket)))
    })
    const gateway = await withoutRetry(origin.port)
    const line = await wire(gateway.port)
    line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.text.includes('requestId'))
    expect(line.statuses).toEqual([status])
    expectProblem(await ask(gateway.port), status, code)
    // The client's connection outlives the fault.
    expect(line.closed).toBe(false)
    await until(() => origin.sockets.size === 0)
    await gateway.quiet(1)
  })

  test('nobody listens: 502, and at once after that 503 with Retry-After', async () => {
    const gateway = await withoutRetry(await deadPort(), { balance: { whenOut: 'recover' } })
    expectProblem(await ask(gateway.port), 502, 'upstream-refused')
    const answer = await ask(gateway.port)
    expectProblem(answer, 503, 'unreachable')
    expect(answer.headers['retry-after']).toMatch(/^[12]$/)
    await gateway.quiet()
  })

  test('the deadline: 504, whoever was being asked', async () => {
    const origin = await startOrigin(() => {})
    const gateway = await withoutRetry(origin.port, { layers: [{ kind: 'deadline', within: '200ms' }], endpoint: [] })
    expectProblem(await ask(gateway.port), 504, 'deadline')
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('a rate: 429 with Retry-After in whole seconds, rounded up', async () => {
    const origin = await startOrigin()
    const gateway = await withoutRetry(origin.port, { layers: [{ kind: 'rateLimit', rate: 1, per: '90s' }] })
    expect((await ask(gateway.port)).status).toBe(200)
    const answer = await ask(gateway.port)
    expectProblem(answer, 429, 'rate')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(85)
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(90)
    expect((await gateway.quiet()).pipeline.refusals).toEqual([{ path: 'default/rateLimit', reason: 'rate', count: 1 }])
  })

  test('an answer of the upstream passes, whatever its status', async () => {
    const origin = await startOrigin((request, response) => {
      response.writeHead(Number(request.url?.slice(1)), { 'retry-after': '7', 'x-mine': '1' })
      response.end('mine')
    })
    const gateway = await withoutRetry(origin.port)
    for (const status of [200, 302, 404, 429, 500, 503, 504, 599]) {
      const answer = await ask(gateway.port, { path: `/${status}` })
      expect(answer).toMatchObject({ status, body: 'mine', headers: { 'x-mine': '1', 'retry-after': '7' } })
    }
  })

  test('the upstream breaks in the middle: the transfer is broken, too, never an end that looks like one', async () => {
    const heads = ['Content-Length: 100\r\n\r\nhalf', 'Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n']
    for (const head of heads) {
      const origin = await startTcp((socket) => {
        socket.once('data', () => {
          socket.write(`HTTP/1.1 200 OK\r\n${head}`)
          setTimeout(() => socket.destroy(), 50)
        })
      })
      const gateway = await withoutRetry(origin.port)
      await expect(ask(gateway.port)).rejects.toThrow(/aborted|ECONNRESET|hang up/)
      const seen = await gateway.quiet()
      expect(seen.upstreams[0]?.failures).toEqual({ reset: 1 })
    }
  })
})

// C30: ambiguous framing.
describe('C30: what may be read in two ways is refused, and nothing of it is sent upstream', () => {
  const post = (lines: string, version = '1.1') => `POST / HTTP/${version}\r\nHost: x\r\n${lines}\r\n\r\n`
  const get = (lines: string) => `GET / HTTP/1.1\r\n${lines}\r\n\r\n`
  let gateway: Gateway
  let origin: Origin

  beforeAll(async () => {
    origin = await startOrigin()
    gateway = await startGateway({ upstreams: [origin.port] })
  })

  test.each([
    ['two lengths that differ', post('Content-Length: 5\r\nContent-Length: 6'), 400],
    ['two lengths alike', post('Content-Length: 5\r\nContent-Length: 5'), 400],
    ['a list of lengths', post('Content-Length: 5, 5'), 400],
    ['a signed length', post('Content-Length: +5'), 400],
    ['a negative length', post('Content-Length: -1'), 400],
    ['a hexadecimal length', post('Content-Length: 0x5'), 400],
    ['a blank before the colon', post('Content-Length : 5'), 400],
    ['a length of 20 digits', post('Content-Length: 99999999999999999999'), 400],
    ['a length and chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked'), 400],
    ['chunks and a length', post('Transfer-Encoding: chunked\r\nContent-Length: 5'), 400],
    ['chunked, gzip', post('Transfer-Encoding: chunked, gzip'), 400],
    ['gzip, chunked', post('Transfer-Encoding: gzip, chunked'), 501],
    ['chunked with a comma', post('Transfer-Encoding: chunked,'), 400],
    ['xchunked', post('Transfer-Encoding: xchunked'), 501],
    ['identity', post('Transfer-Encoding: identity'), 501],
    ['two codings', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'), 400],
    ['a coding in HTTP/1.0', post('Transfer-Encoding: chunked', '1.0'), 400],
    ['a folded line', get('Host: x\r\nX: a\r\n b'), 400],
    ['NUL in a value', get('Host: x\r\nX: a\0b'), 400],
    ['a bare CR', get('Host: x\r\nX: a\rb'), 400],
    ['two hosts', get('Host: x\r\nHost: y'), 400],
    ['no host', get('Accept: */*'), 400],
    ['a host that is none', get('Host: x/evil'), 400],
    ['2,300 lines', get(`Host: x\r\n${'a:b\r\n'.repeat(2300)}c:d`), 431],
    ['101 lines', get(`Host: x${'\r\na:b'.repeat(100)}`), 431],
    ['a head of 100 KB', get(`Host: x\r\nX: ${'x'.repeat(100_000)}`), 431],
    ['a target that is no path', 'GET evil.test HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a target of another kind', 'GET ftp://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a control character in the target', 'GET /a\x01b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 501],
    ['CONNECT', 'CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n', 405],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['a WebSocket without a key', get('Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket'), 400],
    ['another protocol', get('Host: x\r\nConnection: Upgrade\r\nUpgrade: irc'), 501],
    ['no HTTP at all', '\x16\x03\x01\x02\0\x01', 400],
  ])('%s', async (_name, text, status) => {
    const before = origin.seen.length
    const line = await wire(gateway.port, text)
    await until(() => line.text.includes('requestId'))
    expect(line.statuses).toEqual([status])
    expect(line.text).toContain('application/problem+json')
    if (status !== 501 || !text.startsWith('OPTIONS')) await until(() => line.closed)
    else line.socket.destroy()
    await gateway.quiet()
    expect(origin.seen.length).toBe(before)
  })

  test.each([
    ['chunked in any case', 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n'],
    ['100 lines', get(`Host: x${'\r\na:b'.repeat(99)}`)],
    ['a host with a port', get('Host: [::1]:8080')],
  ])('%s is fine', async (_name, text) => {
    const line = await wire(gateway.port, text)
    await until(() => line.statuses.length > 0)
    expect(line.statuses).toEqual([200])
    line.socket.destroy()
    await gateway.quiet()
  })
})
