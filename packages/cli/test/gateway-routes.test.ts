import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { configOf } from '../src/gateway/config/config.ts'
import { configFile, type Gateway, startGateway } from './support/gateway.ts'
import { type Ask, ask, wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

let a: Origin
let b: Origin

beforeAll(async () => {
  a = await startOrigin()
  b = await startOrigin()
})

/** A gateway with clusters a and b. */
function routed(routes: readonly object[], more: object = {}): Promise<Gateway> {
  const clusters = Object.fromEntries(
    Object.entries({ a, b }).map(([name, { port }]) => [name, { endpoints: [`http://127.0.0.1:${port}`] }]),
  )
  return startGateway({ upstreams: [], config: { upstreams: undefined, clusters, routes, ...more } })
}

describe('which route', () => {
  let gateway: Gateway

  beforeAll(async () => {
    gateway = await routed([
      { path: '/v2/**', headers: { 'x-beta': true }, cluster: 'b' },
      { host: ['b.test', '*.b.test'], cluster: 'b' },
      { path: '/items/{id}', methods: ['GET', 'HEAD'], cluster: 'a' },
      { path: '/items/{id}', methods: 'DELETE', cluster: 'b' },
      { path: '/v2/**', cluster: 'a' },
    ])
  })

  /** The cluster that answered, or the status. */
  async function answered(request: Ask): Promise<string | number> {
    const before = b.seen.length
    const { status } = await ask(gateway.port, request)
    if (status !== 200) return status
    return b.seen.length > before ? 'b' : 'a'
  }

  test.each<[string, Ask, string | number]>([
    ['by path', { path: '/v2/x' }, 'a'],
    ['by header', { path: '/v2/x', headers: { 'X-Beta': '' } }, 'b'],
    ['by host', { path: '/x', headers: { host: 'x.B.test:99' } }, 'b'],
    ['by method', { path: '/items/7', method: 'DELETE' }, 'b'],
    ['the first that fits', { path: '/items/7' }, 'a'],
    ['by none', { path: '/nowhere' }, 404],
    ['not by another host', { path: '/x', headers: { host: 'b.test.evil' } }, 404],
  ])('%s', async (_name, request, who) => {
    expect(await answered(request)).toBe(who)
  })

  test('405 says which methods there would be', async () => {
    const answer = await ask(gateway.port, { path: '/items/7', method: 'PUT' })
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe('GET, HEAD, DELETE')
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'method-not-allowed' })
    expect(JSON.parse((await ask(gateway.port, { path: '/' })).body)).toMatchObject({ code: 'no-route' })
  })
})

describe('what a route changes', () => {
  let gateway: Gateway
  let origin: Origin

  beforeAll(async () => {
    origin = await startOrigin((_request, response) => {
      response.writeHead(302, [
        ...['Location', '/old', 'X-Powered-By', 'x', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Server', 's'],
      ])
      response.end()
    })
    gateway = await startGateway({
      upstreams: [origin.port],
      config: {
        routes: [
          {
            path: '/u/{id}/**',
            rewrite: '/users/{id}/{rest}',
            request: { set: { 'X-User': 'user {id}', 'x-tier': 'gold' }, remove: ['X-Debug', 'cookie'] },
            response: { set: { location: '/new/{id}', 'set-cookie': 'u={id}; HttpOnly' }, remove: ['x-powered-by'] },
          },
        ],
      },
    })
  })

  test('path, headers, and back', async () => {
    const headers = ['Host', 'x', 'X-USER', 'root', 'x-debug', '1', 'Cookie', 'a', 'X-Kept', '1', 'X-Tier', 'none']
    const answer = await ask(gateway.port, { path: '/u/7/a//b?q=//x', headers })
    const seen = origin.seen.at(-1)
    expect(seen?.url).toBe('/users/7/a//b?q=//x')
    expect(seen?.headers).toMatchObject({ 'x-user': 'user 7', 'x-tier': 'gold', 'x-kept': '1' })
    for (const gone of ['x-debug', 'cookie']) expect(seen?.headers).not.toHaveProperty(gone)
    expect(answer.headers).toMatchObject({ location: '/new/7', 'set-cookie': ['u=7; HttpOnly'], server: 's' })
    expect(answer.headers).not.toHaveProperty('x-powered-by')
  })

  // C29: one header in is one header out.
  test.each([
    ['a line end', 'a%0d%0aX-Admin:%201', 'a%0D%0AX-Admin:%201'],
    ['a line feed', 'a%0aX-Admin:%201', 'a%0AX-Admin:%201'],
    ['a letter beyond ASCII', '%c3%a9', '%C3%A9'],
    ['what ends a cookie', 'a%3b%20Domain=evil.test', 'a%3B%20Domain=evil.test'],
  ])('C29: %s in the path is text in a header', async (_name, part, text) => {
    const answer = await ask(gateway.port, { path: `/u/${part}/x`, headers: { host: 'x' } })
    expect(answer.status).toBe(302)
    expect(origin.seen.at(-1)?.headers['x-user']).toBe(`user ${text}`)
    expect(origin.seen.at(-1)?.headers).not.toHaveProperty('x-admin')
    expect(answer.headers).toMatchObject({ location: `/new/${text}`, 'set-cookie': [`u=${text}; HttpOnly`] })
  })

  test.each(['a%00', 'a\x01', '\xe9'])('C29: %j is a 400', async (part) => {
    const before = origin.seen.length
    const line = await wire(gateway.port, `GET /u/${part}/x HTTP/1.1\r\nHost: x\r\n\r\n`)
    await until(() => line.closed)
    expect(line.statuses).toEqual([400])
    expect(origin.seen.length).toBe(before)
  })
})

describe('limits of a route', () => {
  let gateway: Gateway
  let whole = 0
  let origin: Origin

  beforeAll(async () => {
    origin = await startOrigin((request, response) => {
      request.on('error', () => {})
      if (request.url === '/early') {
        response.write('begun')
        return void request.resume()
      }
      if (request.url?.startsWith('/stream') === true) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: 1\n\n')
        const timer = setInterval(() => response.write('data: x\n\n'), 300)
        setTimeout(() => clearInterval(timer), request.url === '/stream/ends' ? 1800 : 60_000)
        return void response.on('close', () => clearInterval(timer))
      }
      request.resume()
      request.on('end', () => {
        whole++
        response.end('ok')
      })
    })
    gateway = await startGateway({
      upstreams: [origin.port],
      config: {
        layers: [{ kind: 'deadline', within: '500ms' }],
        endpoint: [{ kind: 'timeout', after: '400ms' }],
        limits: { body: '1MiB', request: '60s', idle: '30s' },
        routes: [
          { path: '/small', limits: { body: 10 } },
          { path: '/early', replay: 0, limits: { body: 10 } },
          { path: '/large', limits: { body: '10MiB' } },
          { path: '/hasty', limits: { request: '1s' } },
          { path: '/lazy', limits: { idle: '1s' } },
          { path: '/stream/**', limits: { idle: '1s' } },
          {},
        ],
      },
    })
  })

  const post = (path: string, lines: string): string => `POST ${path} HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n`
  const chunked = 'Transfer-Encoding: chunked'

  test.each([
    ['/small', 10, 200],
    ['/small', 11, 413],
    ['/large', 2 * 1024 * 1024, 200],
    ['/other', 2 * 1024 * 1024, 413],
  ])('%s, %i bytes: %i', async (path, length, status) => {
    const before = whole
    const answer = await ask(gateway.port, { method: 'PUT', path, body: Buffer.alloc(length) })
    expect(answer.status).toBe(status)
    expect(whole - before).toBe(status === 200 ? 1 : 0)
    await gateway.quiet()
  })

  test.each([
    ['/small', ['5\r\nhello\r\n', '5\r\nworld\r\n', '0\r\n\r\n'], 200],
    ['/small', ['5\r\nhello\r\n', '5\r\nworld\r\n', '1\r\n!\r\n'], 413],
    ['/small', ['B\r\nhello world\r\n0\r\n\r\n'], 413],
    ['/small', ['FFFFFFF\r\nhello world'], 413],
  ])('chunked, %s %j: %i', async (path, pieces, status) => {
    const before = whole
    const line = await wire(gateway.port, post(path, chunked))
    for (const piece of pieces) {
      line.write(piece)
      await pause(30)
    }
    await until(() => line.statuses.length === 1)
    expect(line.statuses).toEqual([status])
    if (status === 413) {
      expect(line.text).toContain('"code":"body-too-large"')
      await until(() => line.closed)
      // What the server got of it has no end.
      await until(() => origin.sockets.size === 0)
    }
    expect(whole - before).toBe(status === 200 ? 1 : 0)
    line.socket.destroy()
    await gateway.quiet()
  })

  test('too much behind an answer that has begun: cut, which nobody takes for the end', async () => {
    const line = await wire(gateway.port, `${post('/early', chunked)}5\r\nhello\r\n`)
    await until(() => line.text.includes('begun'))
    line.write('6\r\n world\r\n')
    await until(() => line.closed)
    expect(line.text).not.toMatch(/\r\n0\r\n/)
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('the time for a whole request', async () => {
    const line = await wire(gateway.port, post('/hasty', 'Content-Length: 1000'))
    const timer = setInterval(() => line.write('x'), 100)
    await until(() => line.closed)
    clearInterval(timer)
    expect(line.statuses).toEqual([408])
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('the time without a byte of a request', async () => {
    const line = await wire(gateway.port, `${post('/lazy', 'Content-Length: 1000')}x`)
    await until(() => line.closed)
    expect(line.statuses).toEqual([408])
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('a stream outlives every total time, and not its silence', async () => {
    const line = await wire(gateway.port, 'GET /stream/ends HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.closed)
    // Six events took 1.8 s, with a deadline of half a second.
    expect(line.text.match(/data: /g)?.length).toBeGreaterThanOrEqual(5)
    expect(line.text).not.toMatch(/\r\n0\r\n/)
    await until(() => origin.sockets.size === 0)
    expect((await gateway.quiet()).upstreams[0]?.failures).toMatchObject({ idle: 1 })
  })
})

describe('static routes', () => {
  test('only read, with places of their own', async () => {
    let release: (() => void)[] = []
    const origin = await startOrigin((request, response) => {
      request.resume()
      if (request.url === '/files/slow') release.push(() => response.end('slow'))
      else response.end('quick')
    })
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: {
        layers: [],
        endpoint: [],
        limits: { static: 2, connections: 3 },
        routes: [
          { id: 'files', path: '/files/**', class: 'static' },
          { id: 'more', path: '/more/**', class: 'static' },
          { id: 'api', path: '/api/**' },
        ],
      },
    })
    const slow = [ask(gateway.port, { path: '/files/slow' }), ask(gateway.port, { path: '/files/slow' })]
    await until(() => release.length === 2)
    // The next waits a second for a place, and is then told so; on another route, too.
    const third = await ask(gateway.port, { path: '/more/x' })
    expect(third.status).toBe(503)
    expect(JSON.parse(third.body)).toMatchObject({ code: 'queue-timeout' })
    // There is always one left for others.
    expect(await ask(gateway.port, { path: '/api/x' })).toMatchObject({ status: 200, body: 'quick' })
    const waiting = ask(gateway.port, { path: '/more/x' })
    await pause(50)
    for (const go of release) go()
    release = []
    expect((await Promise.all([...slow, waiting])).map(({ body }) => body)).toEqual(['slow', 'slow', 'quick'])
    expect((await ask(gateway.port, { method: 'POST', path: '/files/x' })).headers.allow).toBe('GET, HEAD')
    expect((await ask(gateway.port, { path: '/files/x', headers: { 'content-length': 1 }, body: 'x' })).status).toBe(
      413,
    )
    expect((await ask(gateway.port, { method: 'HEAD', path: '/files/x' })).status).toBe(200)
    await gateway.quiet()
  })
})

describe('C35: faults of routes', () => {
  test.each([
    ['rewrite: "/{rest}"', 'routes[0].rewrite: expected a name in "path": id, got {rest}'],
    ['request: { set: { x: "{nobody}" } }', 'routes[0].request.set: expected a name in "path": id, got {nobody}'],
    ['response: { set: { x: "a {nobody}" } }', 'routes[0].response.set: expected a name in "path": id, got {nobody}'],
    ['request: { set: { host: x } }', 'expected a header that is not about framing or one connection'],
    ['request: { set: { "a b": x } }', 'expected the name of a header'],
    ['request: { set: { x: "a\\nb" } }', 'expected visible characters of ASCII, blanks and tabs'],
    ['request: { remove: [Content-Length] }', 'expected a header that is not about framing or one connection'],
    ['host: "a b"', 'routes[0].host: expected a host such as'],
    ['methods: [CONNECT]', 'routes[0].methods[0]: expected'],
    ['class: fast', 'routes[0].class: expected'],
    ['limits: { head: 1s }', 'routes[0].limits.head: expected no such field'],
    ['cluster: nowhere', 'routes[0].cluster: expected a cluster: default, got nowhere'],
  ])('%s', (line, told) => {
    const file = configFile(`upstreams: ["http://x"]\nroutes:\n  - path: /a/{id}\n    ${line}\n`)
    expect(() => configOf({ config: file })).toThrow(told)
  })

  test('a value may have braces that are no names', () => {
    const file = configFile('upstreams: ["http://x"]\nroutes: [{ request: { set: { x: \'{"a": 1}\' } } }]\n')
    expect(configOf({ config: file }).routes[0]?.request).toMatchObject({ set: ['x', '{"a": 1}'], templates: [] })
  })
})
