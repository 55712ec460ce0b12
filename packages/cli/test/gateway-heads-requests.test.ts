import { beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { deadPort, type Origin, type Seen, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// What of a request reaches the server, and which requests do not. Raw bytes in front.

let gateway: Gateway
let origin: Origin

beforeAll(async () => {
  origin = await startOrigin()
  gateway = await startGateway({
    upstreams: [origin.port],
    config: { routes: [{ request: { set: { 'x-auth-user': 'anonymous', via: 'ours' }, remove: ['x-debug'] } }, {}] },
  })
})

interface Outcome {
  readonly status: number
  readonly text: string
  /** What the server saw; undefined: nothing. */
  readonly seen: Seen | undefined
}

async function send(text: string, to: Gateway = gateway, server: Origin = origin): Promise<Outcome> {
  const before = server.seen.length
  const line = await wire(to.port, text)
  await until(() => line.statuses.length === 1)
  line.socket.destroy()
  return { status: line.statuses[0] as number, text: line.text, seen: server.seen[before] }
}

const request = (first: string, ...lines: readonly string[]): string => `${[first, ...lines].join('\r\n')}\r\n\r\n`
const get = (...lines: readonly string[]): string => request('GET / HTTP/1.1', ...lines)

/** The values of a header, line by line. */
function valuesOf(name: string, { raw }: { readonly raw: readonly string[] }): string[] {
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1]?.toLowerCase() === name)
}

// C29: headers a client removes by naming them.
describe('C29', () => {
  test('what the client names is gone before the gateway adds its own', async () => {
    const { seen } = await send(
      get(
        'Host: shop.test',
        'Connection: close, X-Custom, X-Forwarded-Host, X-Auth-User, Content-Length, Host, X-Real-IP, Via, TE',
        'Connection: X-Second',
        'X-Second: 2',
        'X-Custom: 1',
        'X-Auth-User: root',
        'X-Debug: 1',
        'X_Forwarded_For: 1.2.3.4',
        'X_Auth_User: root',
        'TE: trailers',
      ),
    )
    const { headers } = seen as Seen
    expect(headers).toMatchObject({
      'x-auth-user': 'anonymous',
      'x-forwarded-host': 'shop.test',
      'x-forwarded-for': '127.0.0.1',
      'x-real-ip': '127.0.0.1',
      te: 'trailers',
      via: 'ours',
    })
    for (const gone of ['x-custom', 'x-second', 'x-debug', 'x_forwarded_for', 'x_auth_user']) {
      expect(headers).not.toHaveProperty(gone)
    }
    for (const name of ['host', 'x-auth-user', 'x-forwarded-for']) expect(valuesOf(name, seen as Seen)).toHaveLength(1)
  })

  test.each([
    ['trailers', 'trailers'],
    ['Trailers', 'trailers'],
    ['gzip, trailers', 'trailers'],
    ['deflate;q=0.5', undefined],
    ['nottrailers', undefined],
    ['', undefined],
  ])('TE: %s is %s behind', async (given, passed) => {
    const { seen } = await send(get('Host: x', `TE: ${given}`))
    expect(seen?.headers.te).toBe(passed)
  })

  test.each([
    ['h2c', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA']],
    ['a protocol without Connection', ['Upgrade: websocket']],
  ])('%s is not passed on', async (_name, lines) => {
    const { status, seen } = await send(get('Host: x', ...lines))
    expect(status).toBe(200)
    for (const gone of ['upgrade', 'http2-settings']) expect(seen?.headers).not.toHaveProperty(gone)
    expect(seen?.headers.connection).toBe('keep-alive')
  })

  test('one line in is one line out, in order', async () => {
    const { seen } = await send(get('Host: x', 'X-A: 1', 'Cookie: a=1', 'X-A: 2, 3', 'X-A:', 'Cookie: b=2'))
    expect(valuesOf('x-a', seen as Seen)).toEqual(['1', '2, 3', ''])
    expect(valuesOf('cookie', seen as Seen)).toEqual(['a=1', 'b=2'])
  })
})

describe('whose the request is', () => {
  test.each([
    ['a name', 'a.test', 200],
    ['with a port', 'a.test:80', 200],
    ['with an empty port', 'a.test:', 200],
    ['in capitals', 'A.TEST', 200],
    ['with a final dot', 'a.test.', 200],
    ['an address', '127.0.0.1', 200],
    ['an IPv6 address', '[::1]', 200],
    ['an IPv6 address and port', '[::1]:80', 200],
    ['with an underscore', 'my_service', 200],
    ['nothing', '', 400],
    ['a path', 'a.test/evil', 400],
    ['userinfo', 'a.test@evil.test', 400],
    ['two', 'a.test, b.test', 400],
    ['a blank', 'a test', 400],
    ['a port that is none', 'a.test:x', 400],
    ['a long port', 'a.test:123456', 400],
    ['an open bracket', '[::1', 400],
    ['beyond ASCII', '\xe9.test', 400],
    ['a fragment', 'a.test#', 400],
    ['a query', 'a.test?x', 400],
    ['markup', '<script>', 400],
    ['encoded', 'a%2etest', 400],
    ['a long one', 'a'.repeat(300), 400],
    ['a dot', '.', 400],
  ])('Host, %s: "%s" is a %i', async (_name, host, status) => {
    const outcome = await send(get(`Host: ${host}`))
    expect(outcome.status).toBe(status)
    expect(outcome.seen?.headers['x-forwarded-host']).toBe(status === 200 ? host : undefined)
    if (status === 400) expect(outcome.seen).toBeUndefined()
  })

  test.each([
    ['none', get('Accept: */*')],
    ['two alike', get('Host: x', 'Host: x')],
    ['two, one in capitals', get('Host: x', 'HOST: y')],
    ['two of an absolute target', request('GET http://x/ HTTP/1.1', 'Host: x', 'Host: y')],
    ['none of an absolute target', request('GET http://x/ HTTP/1.1')],
    ['a bad one of an absolute target', request('GET http://x/ HTTP/1.1', 'Host: a/b')],
  ])('Host, %s: 400', async (_name, text) => {
    expect(await send(text)).toMatchObject({ status: 400, seen: undefined })
  })

  // RFC 9112, 3.2.2: the Host line does not count.
  test('an absolute target says the host', async () => {
    const { seen } = await send(request('GET http://b.test:81/x?y HTTP/1.1', 'Host: a.test'))
    expect(seen?.url).toBe('/x?y')
    expect(seen?.headers).toMatchObject({ 'x-forwarded-host': 'b.test:81', host: `127.0.0.1:${origin.port}` })
  })

  test.each([
    ['userinfo', 'http://user:pw@b.test/'],
    ['no host', 'http:///x'],
    ['a port that is none', 'http://b.test:x/'],
    ['a scheme that the connection has not', 'https://b.test/'],
    ['another scheme', 'ws://b.test/'],
  ])('an absolute target with %s: 400', async (_name, target) => {
    expect(await send(request(`GET ${target} HTTP/1.1`, 'Host: b.test'))).toMatchObject({
      status: 400,
      seen: undefined,
    })
  })

  test('HTTP/1.0 may do without, and with an absolute target', async () => {
    expect((await send(request('GET / HTTP/1.0'))).seen?.headers).not.toHaveProperty('x-forwarded-host')
    const { seen } = await send(request('GET http://b.test/ HTTP/1.0'))
    expect(seen?.headers).toMatchObject({ 'x-forwarded-host': 'b.test' })
  })
})

describe('methods', () => {
  test.each(['PROPFIND', 'PURGE', 'QUERY', 'M-SEARCH', 'DELETE'])('%s passes', async (method) => {
    const { status, seen } = await send(request(`${method} /x HTTP/1.1`, 'Host: x'))
    expect({ status, method: seen?.method }).toEqual({ status: 200, method })
  })

  test.each([
    ['TRACE / HTTP/1.1', 405],
    ['CONNECT evil.test:443 HTTP/1.1', 405],
    ['CONNECT / HTTP/1.1', 405],
    ['OPTIONS * HTTP/1.1', 501],
    ['GET * HTTP/1.1', 400],
  ])('%s: %i', async (first, status) => {
    const outcome = await send(request(first, 'Host: evil.test:443'))
    expect(outcome).toMatchObject({ status, seen: undefined })
    if (status === 405) expect(outcome.text).toMatch(/^Allow: GET, HEAD, POST/m)
  })
})

describe('Via', () => {
  test('continues that of others', async () => {
    const plain = await startGateway({ upstreams: [origin.port] })
    const { seen, text } = await send(get('Host: x', 'Via: 1.0 fred, 1.1 p.test', 'Via: 2.0 q'), plain)
    expect(valuesOf('via', seen as Seen)).toEqual(['1.0 fred, 1.1 p.test', '2.0 q', '1.1 floodwall'])
    expect(text).toMatch(/^via: 1\.1 floodwall\r$/m)
  })

  test('a gateway that leads to itself comes to an end', async () => {
    const port = await deadPort()
    const looped = await startGateway({
      upstreams: [port],
      config: { listen: `127.0.0.1:${port}`, layers: [], endpoint: [], limits: { headerCount: 30 } },
    })
    const line = await wire(looped.port, get('Host: x'))
    await until(() => line.statuses.length === 1)
    // Each round adds a line of Via.
    expect(line.statuses).toEqual([431])
    line.socket.destroy()
    await until(async () => (await looped.inspect()).gateway.inFlight === 0)
  })
})
