import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

/** What the upstream saw of one raw request. */
async function seenOf(lines: readonly string[], first = 'GET / HTTP/1.1'): Promise<Origin['seen'][number]> {
  const origin = await startOrigin()
  const gateway = await startGateway({ upstreams: [origin.port] })
  const line = await wire(gateway.port, `${[first, ...lines].join('\r\n')}\r\n\r\n`)
  await until(() => line.statuses.length === 1)
  expect(line.statuses).toEqual([200])
  return origin.seen[0] as Origin['seen'][number]
}

describe('what passes', () => {
  test('a message passes as it is, and repeated lines stay apart', async () => {
    const origin = await startOrigin((request, response) => {
      response.writeHead(201, 'Whatever', [
        ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-End', 'kept', 'ETag', '"1"'],
        ...['Connection', 'X-Secret', 'X-Secret', 's', 'Keep-Alive', 'timeout=5', 'Proxy-Authenticate', 'Basic'],
      ])
      request.resume()
      request.on('end', () => response.end('made'))
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    const answer = await ask(gateway.port, {
      method: 'POST',
      path: '/a//b/[...slug].js?redirect_uri=//q.test&x=%5B',
      headers: ['Host', 'shop.test', 'Content-Type', 'text/plain', 'X-Two', '1', 'X-Two', '2'],
      body: 'hello',
    })
    expect(answer).toMatchObject({ status: 201, body: 'made' })
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    expect(answer.headers).toMatchObject({ 'x-end': 'kept', etag: '"1"' })
    for (const gone of ['x-secret', 'proxy-authenticate']) expect(answer.headers).not.toHaveProperty(gone)
    expect(answer.headers['keep-alive']).not.toBe('timeout=5')
    const [seen] = origin.seen
    expect(seen).toMatchObject({ method: 'POST', url: '/a//b/[...slug].js?redirect_uri=//q.test&x=%5B' })
    expect(seen?.raw.filter((text) => text === 'X-Two')).toHaveLength(2)
    await gateway.quiet()
  })

  // C29: hop-by-hop headers, and headers a client removes by naming them.
  test('C29: what is about the connection goes, what the client names goes, what is ours cannot be named away', async () => {
    const { headers, raw } = await seenOf([
      'Host: shop.test',
      'Connection: close, X-Custom, X-Forwarded-Host, X-Forwarded-For, Via, Content-Length, Host, TE',
      'X-Custom: 1',
      'Keep-Alive: timeout=1',
      'Proxy-Authorization: Basic x',
      'Proxy-Connection: keep-alive',
      'TE: trailers, deflate',
      'Trailer: X-Sum',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
      'X_Forwarded_For: 1.2.3.4',
      'x_custom: 1',
      'X-Forwarded-For: 6.6.6.6',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Prefix: /evil',
      'Forwarded: for=6.6.6.6',
      'X-Real-IP: 6.6.6.6',
      'Accept: */*',
    ])
    for (const gone of ['x-custom', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'trailer', 'upgrade']) {
      expect(headers, gone).not.toHaveProperty(gone)
    }
    for (const gone of ['http2-settings', 'x_forwarded_for', 'x_custom', 'x-forwarded-prefix', 'forwarded']) {
      expect(headers, gone).not.toHaveProperty(gone)
    }
    expect(headers).toMatchObject({
      accept: '*/*',
      te: 'trailers',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'shop.test',
      'x-real-ip': '127.0.0.1',
      via: '1.1 floodwall',
      connection: 'keep-alive',
    })
    expect(headers.host).toMatch(/^127\.0\.0\.1:\d+$/)
    expect(raw.filter((text) => text.toLowerCase() === 'host')).toHaveLength(1)
  })

  // C31: where does the request go?
  test.each([
    ['//10.10.10.10/', '//10.10.10.10/'],
    ['//evil.test/x', '//evil.test/x'],
    ['/\\evil.test', '/\\evil.test'],
    ['/@evil.test', '/@evil.test'],
    ['http://evil.test/x?y=1', '/x?y=1'],
    ['http://evil.test:81', '/'],
    ['HTTP://evil.test?x=//y', '/?x=//y'],
  ])('C31: the target %s goes to the upstream as %s', async (target, path) => {
    const { url, headers } = await seenOf(['Host: a.test'], `GET ${target} HTTP/1.1`)
    expect(url).toBe(path)
    expect(headers.host).toMatch(/^127\.0\.0\.1:\d+$/)
  })

  test('HTTP/1.0 without Host is served, and its connection closed', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port] })
    const line = await wire(gateway.port, 'GET / HTTP/1.0\r\n\r\n')
    await until(() => line.closed)
    expect(line.text).toMatch(/^HTTP\/1\.1 200 .*content-length: 2\r\n.*\r\n\r\nok$/s)
    expect(origin.seen[0]?.headers).toMatchObject({ via: '1.0 floodwall' })
    expect(origin.seen[0]?.headers).not.toHaveProperty('x-forwarded-host')
  })
})

// C33: answers without a body, interim answers.
describe('C33: bodies that are none', () => {
  const answers: Record<string, readonly [number, readonly string[]]> = {
    '/204': [204, ['Content-Length', '5']],
    '/304': [304, ['ETag', '"x"', 'Content-Length', '5']],
    '/0': [200, ['Content-Length', '0']],
    '/head': [200, ['Content-Length', '1000']],
  }

  test('HEAD, 204, 304 and an empty 200 leave the connection usable', async () => {
    const origin = await startOrigin((request, response) => {
      const [status, lines] = answers[request.url as string] as (typeof answers)[string]
      response.writeHead(status, [...lines])
      response.end()
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    const line = await wire(gateway.port)
    const heads: string[] = []
    for (const path of ['/204', '/304', '/0', '/head', '/204']) {
      const before = line.text.length
      line.write(`${path === '/head' ? 'HEAD' : 'GET'} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await until(() => line.text.length > before && line.text.endsWith('\r\n\r\n'))
      heads.push(line.text.slice(before))
    }
    expect(line.statuses).toEqual([204, 304, 200, 200, 204])
    expect(heads[0]).not.toMatch(/content-length|transfer-encoding/i)
    expect(heads[1]).toMatch(/etag: "x"/)
    expect(heads[1]).not.toMatch(/transfer-encoding/i)
    expect(heads[2]).toMatch(/content-length: 0/)
    expect(heads[3]).toMatch(/content-length: 1000/)
    await gateway.quiet(1)
  })

  test('interim answers are not the answer, and trailers come after a chunked one', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeEarlyHints({ link: '</x.css>; rel=preload' })
      response.writeHead(200, { trailer: 'grpc-status', 'content-type': 'text/plain' })
      response.write('body')
      response.addTrailers({ 'grpc-status': '0' })
      setTimeout(() => response.end(), 20)
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    expect(await ask(gateway.port)).toMatchObject({ status: 200, body: 'body', trailers: { 'grpc-status': '0' } })
  })
})

test('many requests share connections on both sides', async () => {
  const origin = await startOrigin()
  const gateway = await startGateway({ upstreams: [origin.port] })
  const line = await wire(gateway.port)
  for (let i = 1; i <= 50; i++) {
    line.write(`GET /${i} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await until(() => line.statuses.length === i)
  }
  expect(new Set(line.statuses)).toEqual(new Set([200]))
  expect(origin.sockets.size).toBe(1)
  // Several at once on one connection: the answers come in order.
  line.write(['a', 'b', 'c'].map((path) => `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''))
  await until(() => line.statuses.length === 53)
  expect(
    origin.seen
      .slice(-3)
      .map(({ url }) => url)
      .sort(),
  ).toEqual(['/a', '/b', '/c'])
  expect((await gateway.quiet(1)).gateway.requests).toEqual({ '2xx': 53 })
})
