import { beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { type Origin, startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'

// What a server may answer, and what of it reaches the client. Raw bytes behind the gateway.

const length = 'Content-Length: 2'
const chunks = 'Transfer-Encoding: chunked'
const ok = (lines: string, body = 'ok'): string => `HTTP/1.1 200 OK\r\n${lines}\r\n\r\n${body}`

let gateway: Gateway
let origin: Origin
/** What the server answers next. */
let bytes = ''
let connections = 0

beforeAll(async () => {
  origin = await startTcp((socket) => {
    connections++
    socket.on('data', () => socket.write(Buffer.from(bytes, 'latin1')))
  })
  gateway = await startGateway({
    upstreams: [origin.port],
    config: { layers: [], endpoint: [{ kind: 'timeout', after: '2s' }] },
  })
})

/** What a client sees when the server answers with `text`, byte for byte. */
async function seenOf(text: string, head = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'): Promise<string> {
  bytes = text
  const line = await wire(gateway.port, head)
  await until(() => line.closed)
  await gateway.quiet()
  return line.text
}

// C30: bad framing behind the gateway.
describe('C30: an answer that may be read in two ways is a 502, and its connection is not used again', () => {
  test.each([
    ['both framings', ok(`${chunks}\r\n${length}`)],
    ['both framings, the other way round', ok(`${length}\r\n${chunks}`)],
    ['two lengths alike', ok(`${length}\r\n${length}`)],
    ['a list of lengths', ok('Content-Length: 2, 2')],
    ['a signed length', ok('Content-Length: +2')],
    ['a negative length', ok('Content-Length: -2')],
    ['a hexadecimal length', ok('Content-Length: 0x2')],
    ['a length of 20 digits', ok('Content-Length: 99999999999999999999')],
    ['chunked twice', ok(`${chunks}\r\n${chunks}`, '2\r\nok\r\n0\r\n\r\n')],
    ['chunked, chunked', ok('Transfer-Encoding: chunked, chunked', '2\r\nok\r\n0\r\n\r\n')],
    ['gzip, chunked', ok('Transfer-Encoding: gzip, chunked', '2\r\nok\r\n0\r\n\r\n')],
    ['chunked, gzip', ok('Transfer-Encoding: chunked, gzip', '2\r\nok\r\n0\r\n\r\n')],
    ['xchunked', ok('Transfer-Encoding: xchunked', '2\r\nok\r\n0\r\n\r\n')],
    ['identity', ok('Transfer-Encoding: identity')],
    ['an empty coding', ok('Transfer-Encoding:')],
    ['a folded line', ok(`X: a\r\n b\r\n${length}`)],
    ['NUL in a value', ok(`X: a\0b\r\n${length}`)],
    ['a control character in a value', ok(`X: a\x01b\r\n${length}`)],
    ['a bare CR', ok(`X: a\rb\r\n${length}`)],
    ['a bare LF', ok(`X: a\nY: b\r\n${length}`)],
    ['bare LFs only', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['a blank before a colon', ok(`X : a\r\n${length}`)],
    ['a line that is none', ok(`X\r\n${length}`)],
    ['no name', ok(`: a\r\n${length}`)],
    ['a name that is none', ok(`X(: a\r\n${length}`)],
    ['HTTP/0.9', 'this is all there is'],
    ['status 000', `HTTP/1.1 000 X\r\n${length}\r\n\r\nok`],
    ['status 099', `HTTP/1.1 099 X\r\n${length}\r\n\r\nok`],
    ['status 1000', `HTTP/1.1 1000 X\r\n${length}\r\n\r\nok`],
    ['another protocol, unasked', 'HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
    ['another protocol, unasked and unnamed', `HTTP/1.1 101 S\r\n\r\n${ok(length)}`],
    ['2,300 lines', ok(`${'a:b\r\n'.repeat(2300)}${length}`)],
    ['101 lines', ok(`${'a:b\r\n'.repeat(100)}${length}`)],
    ['a head of 100 KB', ok(`X: ${'x'.repeat(100_000)}\r\n${length}`)],
  ])('%s', async (_name, text) => {
    const seen = await seenOf(text)
    expect(seen).toMatch(/^HTTP\/1\.1 502 /)
    expect(seen).toMatch(/"code":"upstream-(invalid|reset)"/)
    await until(() => origin.sockets.size === 0)
    const before = connections
    expect(await seenOf(ok(length))).toMatch(/^HTTP\/1\.1 200 /)
    expect(connections).toBe(before + 1)
  })

  test.each([
    ['a bare LF in an extension', ok(chunks, '2;a\nb\r\nok\r\n0\r\n\r\n')],
    ['a bare LF behind a size', ok(chunks, '2\nok\r\n0\r\n\r\n')],
    ['a size that is none', ok(chunks, 'xyz\r\nok\r\n0\r\n\r\n')],
    ['a size that overflows', ok(chunks, 'FFFFFFFFFFFFFFFFF\r\nok\r\n0\r\n\r\n')],
    ['a length in the trailer', ok(chunks, '2\r\nok\r\n0\r\nContent-Length: 5\r\n\r\n')],
  ])('a body that breaks off never looks whole: %s', async (_name, text) => {
    const seen = await seenOf(text)
    // The answer of the gateway, or a chunked body without its end.
    if (!seen.startsWith('HTTP/1.1 502 ')) expect(seen).not.toMatch(/\r\n0\r\n/)
    await until(() => origin.sockets.size === 0)
  })

  test('bytes behind a body are nobody’s answer', async () => {
    bytes = ok(length, 'okHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled')
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.statuses.length === 1 && line.text.endsWith('ok'))
    await until(() => origin.sockets.size === 0)
    bytes = ok(length, 'me')
    line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.statuses.length === 2)
    expect(line.text).not.toContain('smuggled')
    expect(line.text.endsWith('me')).toBe(true)
    line.socket.destroy()
    await gateway.quiet()
  })
})

describe('what is fine', () => {
  test.each([
    ['100 lines', ok(`${'a:b\r\n'.repeat(99)}${length}`)],
    ['Chunked', ok('Transfer-Encoding: Chunked', '2\r\nok\r\n0\r\n\r\n')],
    ['HTTP/1.0', `HTTP/1.0 200 OK\r\n${length}\r\n\r\nok`],
    ['no reason', `HTTP/1.1 200\r\n${length}\r\n\r\nok`],
    ['leading zeros', ok('Content-Length: 0002')],
  ])('%s', async (_name, text) => {
    const seen = await seenOf(text)
    expect(seen).toMatch(/^HTTP\/1\.1 200 /)
    expect(seen).toMatch(/ok|2\r\nok\r\n0\r\n\r\n/)
  })

  test('names that objects have already, and bytes beyond ASCII', async () => {
    const seen = await seenOf(ok(`__proto__: a\r\nconstructor: b\r\nX: \xe9\xc3\xa9\r\n${length}`))
    expect(seen).toContain('__proto__: a\r\n')
    expect(seen).toContain('constructor: b\r\n')
    expect(seen).toContain('x: \xe9\xc3\xa9\r\n')
  })
})

// C29: the mirror of what is done to requests.
test('C29: what is about the connection between the two ends there', async () => {
  const seen = await seenOf(
    ok(
      `Connection: X-Secret, Via, Content-Length, close\r\nX-Secret: s\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\nTrailer: X\r\nTE: x\r\nVia: 1.0 inner\r\nX-Kept: 1\r\n${length}`,
    ),
  )
  expect(seen).not.toMatch(/^(x-secret|keep-alive|proxy-authenticate|upgrade|trailer|te):/im)
  expect(seen).toMatch(/^x-kept: 1\r$/m)
  expect(seen).toMatch(/^content-length: 2\r$/m)
  // Named away is what the server said; ours is added after that.
  expect(seen.match(/^via: .*$/gm)).toEqual(['via: 1.1 floodwall'])
})

test('Via tells every station in order', async () => {
  const seen = await seenOf(ok(`Via: 1.0 inner\r\nVia: 1.1 outer\r\n${length}`))
  expect(seen.match(/^via: .*$/gm)).toEqual(['via: 1.0 inner', 'via: 1.1 outer', 'via: 1.1 floodwall'])
})

// C33: interim answers.
describe('C33: interim answers are not the answer', () => {
  test.each([
    ['102', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['103', 'HTTP/1.1 103 Early Hints\r\nLink: </x.css>\r\nSet-Cookie: a=1\r\n\r\n'],
    ['100, which nobody asked for', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['199', 'HTTP/1.1 199 Own\r\n\r\n'],
    ['103 twice', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2)],
  ])('%s: dropped, and none of its lines passes for one of the answer', async (_name, interim) => {
    const seen = await seenOf(interim + ok(length))
    expect(seen).toMatch(/^HTTP\/1\.1 200 /)
    expect(seen).not.toMatch(/link:|set-cookie:/i)
    expect(seen.endsWith('ok')).toBe(true)
  })
})

// C33: trailers.
describe('C33: trailers', () => {
  const trailed = (lines: string): string => ok(chunks, `2\r\nok\r\n0\r\n${lines}\r\n\r\n`)

  test('come after a chunked answer, but for what frames, routes or changes the head', async () => {
    const seen = await seenOf(
      trailed(
        'grpc-status: 0\r\nX-Sum: 1\r\nX-Sum: 2\r\nSet-Cookie: a=1\r\nKeep-Alive: x\r\nContent-Type: text/html\r\nLocation: //evil.test\r\nbaggage: a=1',
      ),
    )
    expect(seen.slice(seen.indexOf('\r\n0\r\n'))).toBe('\r\n0\r\ngrpc-status: 0\r\nx-sum: 1\r\nx-sum: 2\r\n\r\n')
  })

  test('too many are none', async () => {
    const seen = await seenOf(trailed('a:b\r\n'.repeat(101).trim()))
    expect(seen.endsWith('\r\n0\r\n\r\n')).toBe(true)
  })

  test('of a request end here, and never become its head', async () => {
    const server = await startOrigin()
    const own = await startGateway({ upstreams: [server.port] })
    const line = await wire(
      own.port,
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Admin: 1\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n',
    )
    await until(() => line.statuses.length === 1)
    expect(line.statuses).toEqual([200])
    expect(server.seen[0]?.body).toBe('hi')
    expect(server.seen[0]?.headers).not.toHaveProperty('x-admin')
    expect(server.seen[0]?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' })
    line.socket.destroy()
    await own.quiet()
  })
})

describe('Retry-After', () => {
  test('a date counts like seconds', async () => {
    const at = (ms: number): string => new Date(ms).toUTCString()
    const server = await startOrigin((_request, response) => {
      response.writeHead(503, { date: at(1e12), 'retry-after': at(1e12 + 3000) })
      response.end()
    })
    const own = await startGateway({ upstreams: [server.port], config: { layers: [], endpoint: [] } })
    expect((await ask(own.port)).headers['retry-after']).toBe(at(1e12 + 3000))
    // Overload, not failure: the server asked for a pause.
    expect((await own.quiet()).pipeline.calls).toMatchObject({ overload: 1, failure: 0 })
  })
})
