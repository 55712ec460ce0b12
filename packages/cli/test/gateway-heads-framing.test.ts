import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// C30: where does a message end? Raw bytes in front, a server behind that notes what it took for a request.

const post = (lines: string, body = ''): string => `POST / HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n${body}`
const chunked = (body: string): string => post('Transfer-Encoding: chunked', body)
const get = (lines: string): string => `GET / HTTP/1.1\r\n${lines}\r\n\r\n`

let gateway: Gateway
let origin: Origin
/** Bodies that the server took for whole. */
let whole = 0
let refused = 0

beforeAll(async () => {
  origin = await startOrigin((request, response) => {
    request.resume()
    request.on('error', () => {})
    request.on('end', () => {
      whole++
      response.end('ok')
    })
  })
  gateway = await startGateway({ upstreams: [origin.port], args: ['--log-level', 'debug'] })
})

const said = (): Record<string, unknown>[] => gateway.log.filter(({ status }) => Number(status) >= 400)

/** What came of bytes that are refused: told once, connection closed, one line in the log. */
async function refusal(text: string): Promise<number> {
  const wholeBefore = whole
  const line = await wire(gateway.port, text)
  await until(() => line.closed)
  refused++
  expect(line.text.match(/"requestId"/g)).toHaveLength(1)
  expect(line.statuses).toHaveLength(1)
  expect(line.text).toContain('application/problem+json')
  expect(line.text).toMatch(/\r\nConnection: close\r\n/)
  await gateway.quiet()
  expect(whole).toBe(wholeBefore)
  return line.statuses[0] as number
}

describe('C30: a head that may be read in two ways: nothing of it is sent upstream', () => {
  // Refused by the parser of Node 24, and by us where it is not.
  test.each([
    ['an empty coding', post('Transfer-Encoding:')],
    ['an empty coding before a length', post('Transfer-Encoding: \r\nContent-Length: 5', 'hello')],
  ])('%s', async (_name, text) => {
    const seen = origin.seen.length
    expect([400, 501]).toContain(await refusal(text))
    expect(origin.seen.length).toBe(seen)
  })

  test.each([
    ['no length at all', post('Content-Length:'), 400],
    ['a length in decimals', post('Content-Length: 5.0'), 400],
    ['a length with an exponent', post('Content-Length: 1e1'), 400],
    ['a length that overflows', post('Content-Length: 18446744073709551616'), 400],
    ['a length beyond counting', post('Content-Length: 18446744073709551615'), 413],
    ['a length that no number holds', post('Content-Length: 9007199254740993'), 413],
    ['a coding in quotes', post('Transfer-Encoding: "chunked"'), 501],
    ['a coding with a parameter', post('Transfer-Encoding: chunked;q=1'), 501],
    ['a coding with a vertical tab', post('Transfer-Encoding: chunked\x0b'), 400],
    ['gzip', post('Transfer-Encoding: gzip'), 501],
    ['a blank before the colon of a coding', post('Transfer-Encoding : chunked'), 400],
    ['a line that is none', get('Host: x\r\nX'), 400],
    ['a line without a name', get('Host: x\r\n: a'), 400],
    ['a name with a bracket', get('Host: x\r\nX(: a'), 400],
    ['a name beyond ASCII', get('Host: x\r\nX\xe9: a'), 400],
    ['a control character in a value', get('Host: x\r\nX: a\x0bb'), 400],
    ['DEL in a value', get('Host: x\r\nX: a\x7fb'), 400],
    ['a bare LF', get('Host: x\r\nX: a\nY: b'), 400],
    ['bare LFs only', 'GET / HTTP/1.1\nHost: x\n\n', 400],
    ['a folded line with a tab', get('Host: x\r\nX: a\r\n\tb'), 400],
    ['a folded first line', get(' X: a\r\nHost: x'), 400],
    ['a blank before the method', ' GET / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a tab behind the method', 'GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a method of nobody', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a method of RTSP', 'DESCRIBE / RTSP/1.0\r\nHost: x\r\n\r\n', 505],
    ['a method of ICE', 'SOURCE / ICE/1.0\r\nHost: x\r\n\r\n', 501],
    ['HTTP/0.9', 'GET /\r\n\r\n', 505],
    ['HTTP/0.9 by name', 'GET / HTTP/0.9\r\nHost: x\r\n\r\n', 505],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: x\r\n\r\n', 505],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: x\r\n\r\n', 400],
    ['a blank behind the version', 'GET / HTTP/1.1 \r\nHost: x\r\n\r\n', 400],
    ['two blanks in the target', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a target of 20 KB', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ])('%s', async (_name, text, status) => {
    const seen = origin.seen.length
    expect(await refusal(text)).toBe(status)
    expect(origin.seen.length).toBe(seen)
  })
})

describe('C30: a body that is none: the server behind never takes it for the whole', () => {
  test.each([
    ['a bare LF in an extension', '5;a\nb\r\nhello\r\n0\r\n\r\n'],
    ['a bare LF behind a size', '5\nhello\r\n0\r\n\r\n'],
    ['a bare LF behind a chunk', '5\r\nhello\n0\r\n\r\n'],
    ['a bare LF at the end', '5\r\nhello\r\n0\r\n\n'],
    ['a blank behind a size', '5 \r\nhello\r\n0\r\n\r\n'],
    ['a chunk longer than its size', '5\r\nhelloX\r\n0\r\n\r\n'],
    ['a hexadecimal prefix', '0x5\r\nhello\r\n0\r\n\r\n'],
    ['a sign', '+5\r\nhello\r\n0\r\n\r\n'],
    ['a negative size', '-1\r\nhello\r\n0\r\n\r\n'],
    ['no size', '\r\nhello\r\n0\r\n\r\n'],
    ['a size of 17 digits', 'FFFFFFFFFFFFFFFFF\r\nhello'],
    ['a quoted line end in an extension', '5;a="\r\n"\r\nhello\r\n0\r\n\r\n'],
    ['20 KB of extensions', `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`],
    ['a length in the trailer', '5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n'],
    ['a coding in the trailer', '5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a folded trailer', '5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n'],
  ])('%s', async (_name, body) => {
    expect(await refusal(chunked(body))).toBe(400)
    await until(() => origin.sockets.size === 0)
  })

  test('a size of 16 digits is one, and its bytes never come: told so in time', async () => {
    const slow = await startGateway({ upstreams: [origin.port], config: { limits: { idle: '1s' } } })
    const line = await wire(slow.port, chunked('FFFFFFFFFFFFFFFF\r\nhello'))
    await until(() => line.closed)
    expect(line.statuses).toEqual([408])
    await slow.quiet()
    await until(() => origin.sockets.size === 0)
  })
})

describe('C30: what is fine', () => {
  test.each([
    ['leading zeros', post('Content-Length: 0005', 'hello')],
    ['blanks around a length', post('Content-Length:   5   ', 'hello')],
    ['an extension', chunked('5;a=b;c="d"\r\nhello\r\n0\r\n\r\n')],
    ['a long zero', chunked('0000000000005\r\nhello\r\n000\r\n\r\n')],
    ['a trailer', chunked('5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n')],
    ['empty lines before', `\r\n\r\n${post('Content-Length: 5', 'hello')}`],
    ['a body of a GET', 'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello'],
    ['a value beyond ASCII', get('Host: x\r\nX: \xe9\xc3\xa9')],
  ])('%s', async (_name, text) => {
    const line = await wire(gateway.port, text)
    await until(() => line.statuses.length > 0)
    expect(line.statuses).toEqual([200])
    const { headers, raw } = origin.seen.at(-1) as (typeof origin.seen)[number]
    // Framed anew: a length is a plain number, and there is one framing.
    if (headers['content-length'] !== undefined) expect(headers['content-length']).toBe('5')
    expect(raw.filter((name) => /^(content-length|transfer-encoding)$/i.test(name)).length).toBeLessThanOrEqual(1)
    line.socket.destroy()
    await gateway.quiet()
  })

  test('bytes beyond ASCII are the same bytes behind', async () => {
    const line = await wire(gateway.port, get('Host: x\r\nX-Bytes: \xe9\xc3\xa9'))
    await until(() => line.statuses.length > 0)
    expect(origin.seen.at(-1)?.headers['x-bytes']).toBe('\xe9\xc3\xa9')
    line.socket.destroy()
  })
})

describe('C30: pipelined', () => {
  test('an answer that is due is not lost when what follows is no request', async () => {
    let answer = (): void => {}
    const late = await startOrigin((_request, response) => {
      answer = () => response.end('first')
    })
    const own = await startGateway({ upstreams: [late.port] })
    const line = await wire(own.port, `${get('Host: x')}GARBAGE\r\n\r\n`)
    await until(() => late.seen.length === 1)
    line.write('more of it\r\n\r\n')
    answer()
    await until(() => line.closed)
    expect(line.statuses).toEqual([200, 400])
    expect(line.text).toMatch(/first.*"code":"bad-request"/s)
    expect(late.seen).toHaveLength(1)
    await own.quiet()
  })

  test('nothing behind a refused request is a request', async () => {
    const seen = origin.seen.length
    const line = await wire(gateway.port, `${post('Transfer-Encoding: gzip')}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`)
    await until(() => line.closed)
    refused++
    expect(line.statuses).toEqual([501])
    expect(origin.seen.length).toBe(seen)
    await gateway.quiet()
  })

  test('what follows the last request is not heard, and its answer comes', async () => {
    const line = await wire(gateway.port, `${get('Host: x\r\nConnection: close')}GARBAGE\r\n\r\n`)
    await until(() => line.closed)
    expect(line.statuses).toEqual([200])
    await gateway.quiet()
  })
})

afterAll(async () => {
  await until(() => said().length >= refused)
  expect(said()).toHaveLength(refused)
})
