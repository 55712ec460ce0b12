import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { connect, createServer as createServer2 } from 'node:http2'
import { createRequire } from 'node:module'
import { type AdminOptions, admin } from 'floodwall/admin'
import { hotCache, localTable } from 'floodwall/caches'
import { describe, expect, test } from 'vitest'
import { ask, oneConnection, raw, until } from '../adapters/client.ts'
import { serving } from '../adapters/serving.ts'
import { fieldsOf, Office, TOKEN } from './office.ts'

/** Express brings no types. */
type Use = (...what: (string | RequestListener)[]) => Express
type Express = RequestListener & { readonly use: Use }
const express = createRequire(import.meta.url)('express') as { (): Express; json(): RequestListener }

const paths = ['/inspect', '/caches', '/caches/items', '/tables/rates', '/nothing']
const changes = ['/caches/items/warm', '/caches/items/forget', '/tables/rates/refresh', '/nothing']

describe('C34: who may come in', () => {
  test('who knows the token; others learn nothing of what there is, and change nothing', async () => {
    await using office = await new Office().open()
    for (const path of paths) {
      for (const authorization of [
        '',
        'Bearer',
        `Basic ${TOKEN}`,
        TOKEN,
        `Bearer ${TOKEN}x`,
        `Bearer ${TOKEN.slice(1)}`,
      ]) {
        const answer = await office.get(path, { authorization })
        expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
        expect(fieldsOf(answer)).toEqual({ title: 'Unauthorized', status: 401, detail: 'This is not the token.' })
        office.world.advance('1s')
      }
      expect((await office.get(path)).status).toBe(path === '/nothing' ? 404 : 200)
    }
    for (const path of changes) {
      const { status } = await ask({ port: office.port, method: 'POST', path })
      expect(status).toBe(401)
    }
    expect([office.loads.length, office.refreshes.length, office.steered]).toEqual([0, 0, []])
    // In the address it would be in every log on the way.
    expect((await office.get(`/inspect?token=${TOKEN}`, { authorization: 'Bearer' })).status).toBe(401)
    const { admin: self } = (await office.seen('/inspect')) as { admin: Record<string, unknown> }
    expect(self['wrongTokens']).toBe(31)
  })

  test('200 wrong tokens on one connection: limited, told in one event, and the right one is taken all the while', async () => {
    await using office = await new Office().open()
    const agent = oneConnection()
    const statuses: number[] = []
    for (let i = 0; i < 200; i++) {
      const headers = { authorization: `Bearer guess-${i}` }
      statuses.push((await ask({ ...office.asked('GET', '/inspect', { headers }), agent })).status)
    }
    agent.destroy()
    expect(statuses.slice(0, 11)).toEqual([...Array(10).fill(401), 429])
    expect(new Set(statuses.slice(10))).toEqual(new Set([429]))
    expect((await office.get('/inspect')).status).toBe(200)
    expect(office.world.events).toMatchObject([{ type: 'warning', path: 'admin', why: 'somebody guesses the token' }])
  })

  test('no answer holds the token', async () => {
    await using office = await new Office().open()
    for (const path of paths) expect((await office.get(path)).body).not.toContain(TOKEN)
    expect((await office.post('/caches/items/warm', { keys: [TOKEN], ttl: 'x' })).body).not.toContain('Bearer')
  })
})

describe('C34: a browser as the way in', () => {
  test.each([
    ['another name that points here', { host: 'evil.test' }],
    ['another name with our port', { host: 'evil.test:PORT' }],
    ['another port', { host: '127.0.0.1:1' }],
    ['a page of another site', { origin: 'http://evil.test' }],
    ['a page in a sandbox', { origin: 'null' }],
    ['a page of another port of this machine', { origin: 'http://127.0.0.1:3000' }],
    ['a page that asks by another of our names', { origin: 'http://localhost:PORT' }],
    ['a link on another site', { 'sec-fetch-site': 'cross-site' }],
    ['a form of another port', { 'sec-fetch-site': 'same-site' }],
  ])('%s is refused, with the token too', async (_, sent) => {
    await using office = await new Office().open()
    const headers = Object.fromEntries(
      Object.entries(sent).map(([k, v]) => [k, v.replace('PORT', String(office.port))]),
    )
    expect((await office.get('/inspect', headers)).status).toBe(403)
    const forged = { ...office.asked('POST', '/tables/rates/refresh', { headers }) }
    expect((await ask(forged)).status).toBe(403)
    expect([office.refreshes.length, office.steered]).toEqual([0, []])
  })

  test('a page of ours, an address that was typed, and no browser at all are let in', async () => {
    await using office = await new Office({ hosts: ['OPS.example.com'] }).open()
    const own = `127.0.0.1:${office.port}`
    for (const headers of [
      { origin: `http://${own}`, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { host: `LOCALHOST:${office.port}` },
      { host: 'ops.example.com', origin: 'https://ops.example.com' },
      {},
    ]) {
      expect((await office.get('/inspect', headers as Record<string, string>)).status).toBe(200)
    }
  })

  test('a form, and a question before a question from elsewhere, find no way', async () => {
    await using office = await new Office({ loopbackOnly: true }).open()
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const asked = office.asked('POST', '/caches/items/forget', { body: 'keys=a', headers: form })
    expect((await ask(asked)).status).toBe(415)
    const preflight = await ask(office.asked('OPTIONS', '/caches/items/forget'))
    expect([preflight.status, preflight.headers.allow]).toEqual([405, 'POST'])
    expect(Object.keys(preflight.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('nothing that a browser could put in a frame, run, or keep', async () => {
    await using office = await new Office().open()
    for (const answer of [await office.get('/inspect'), await office.get('/nothing'), await office.post('/inspect')]) {
      expect(answer.headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      })
    }
  })
})

describe('without a token', () => {
  test('only where it was said that this machine alone is meant', async () => {
    expect(() => admin({})).toThrow(
      'admin.token: expected a token of at least 16 visible characters, or loopbackOnly, got',
    )
    const page = admin({ loopbackOnly: true })
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.com', '127.0.0.1.example.com']) {
      await expect(page.listen({ port: 0, host })).rejects.toThrow(
        `listen.host: expected an address of loopback, since loopbackOnly is set, got "${host}"`,
      )
    }
    const address = await page.listen({ port: 0 })
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await fetch(`${address}/inspect`)).status).toBe(200)
    await page.close()
  })

  test('not in a server of others: who connects there may be a proxy', async () => {
    await using own = await serving(admin({ loopbackOnly: true }).handler)
    const answer = await ask({ port: own.port, path: '/inspect' })
    expect([answer.status, fieldsOf(answer)['detail']]).toEqual([403, 'Mounted, this page needs a token.'])
  })

  test.each(['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'])(
    'not through a proxy of this machine that says so in %s',
    async (name) => {
      await using office = await new Office({ token: undefined, loopbackOnly: true }).open()
      const answer = await office.get('/inspect', { [name]: 'for=203.0.113.9' })
      expect([answer.status, fieldsOf(answer)['detail']]).toEqual([403, 'Behind a proxy this page needs a token.'])
      expect((await office.get('/inspect')).status).toBe(200)
      // Who knows a token is known by it.
      await using known = await new Office({ loopbackOnly: true }).open()
      expect((await known.get('/inspect', { [name]: 'for=203.0.113.9' })).status).toBe(200)
    },
  )
})

test('for this machine alone: others are refused, with the token too, whatever their headers say', async () => {
  const page = admin({ token: TOKEN, loopbackOnly: true })
  let from = '192.0.2.7'
  await using own = await serving((request, response) => {
    Object.defineProperty(request.socket, 'remoteAddress', { value: from })
    page.handler(request, response)
  })
  const headers = { authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' }
  const statuses: number[] = []
  for (from of ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::1', '', '127.0.0.1', '::ffff:127.0.0.9', '::1'])
    statuses.push((await ask({ port: own.port, path: '/inspect', headers })).status)
  expect(statuses).toEqual([403, 403, 403, 403, 200, 200, 200])
})

describe('mounted', () => {
  const authorization = `Bearer ${TOKEN}`

  test('under a path of its own, beside what the server has', async () => {
    const page = admin({ token: TOKEN, under: '/admin' })
    await using own = await serving((request, response) => {
      if (request.url?.startsWith('/admin') === true) page.handler(request, response)
      else response.end('the shop')
    })
    const status = async (path: string) => (await ask({ port: own.port, path, headers: { authorization } })).status
    expect(await Promise.all(['/admin/inspect', '/admin/inspect?x=1', '/shop'].map(status))).toEqual([200, 200, 200])
    expect(await Promise.all(['/admin', '/admin/', '/admininspect', '/admin/admin/inspect'].map(status))).toEqual([
      ...[404, 404, 404, 404],
    ])
    await page.close()
    expect(await status('/admin/inspect')).toBe(503)
  })

  test('the end of the page while a body is arriving: nothing is changed', async () => {
    const page = admin({ token: TOKEN, caches: { items: hotCache<string, string>({ load: (key) => key, ttl: 1 }) } })
    await using own = await serving(page.handler)
    const body = '{"keys":["a"]}'
    const head = `POST /caches/items/forget HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\nAuthorization: ${authorization}\r\n`
    const lines = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const { socket, text } = raw(own.port, head + lines + body.slice(0, 5))
    await until(() => page.inspect()['requests'] === 1)
    await page.close()
    socket.write(body.slice(5))
    await until(() => text() !== '')
    socket.destroy()
    expect(text()).toMatch(/^HTTP\/1.1 503 /)
    expect(page.inspect()['changes']).toMatchObject({ forget: 0 })
  })

  test('who leaves half-way over HTTP/2 has left, and is not told that he was wrong', async () => {
    const page = admin({ token: TOKEN, caches: { items: hotCache<string, string>({ load: (key) => key, ttl: 1 }) } })
    const server = createServer2(page.handler as never)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const session = connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
    const path = { ':path': '/caches/items/forget', ':method': 'POST', 'content-type': 'application/json' }
    const stream = session.request({ authorization, ...path })
    stream.on('error', () => {})
    stream.write('{"k')
    await until(() => page.inspect()['requests'] === 1)
    // close() would end the body first.
    stream.destroy(new Error('gone'))
    await until(() => page.inspect()['left'] === 1 || page.inspect()['refused'] === 1)
    expect(page.inspect()).toMatchObject({ left: 1, refused: 0 })
    session.destroy()
    server.close()
  })

  test('in Express, before what reads bodies and after it; in a server of HTTP/2', async () => {
    const items = hotCache<string, string>({ load: (key) => key, ttl: 1 })
    const page = admin({ token: TOKEN, caches: { items } })
    const app = express().use('/before', page.handler).use(express.json()).use('/after', page.handler)
    await using own = await serving(app)
    const sent = { headers: { authorization, 'content-type': 'application/json' }, body: '{"keys":["a"]}' }
    const forget = async (path: string) =>
      (await ask({ port: own.port, method: 'POST', path: `${path}/caches/items/forget`, ...sent })).status
    expect([await forget('/before'), await forget('/after')]).toEqual([200, 500])

    const server = createServer2(page.handler as never)
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const session = connect(`http://127.0.0.1:${(server.address() as { port: number }).port}`)
    const statusOf = async (headers: object, body: string) => {
      const stream = session
        .request({ authorization, ':method': 'POST', ...headers })
        .end(body)
        .resume()
      const [head] = (await once(stream, 'response')) as [{ ':status': number }]
      return head[':status']
    }
    const path = { ':path': '/caches/items/forget', 'content-type': 'application/json' }
    expect(await statusOf(path, '{"keys":["a"]}')).toBe(200)
    expect(await statusOf({ ...path, origin: 'http://evil.test' }, '{"keys":["a"]}')).toBe(403)
    expect(await statusOf(path, 'x'.repeat(70_000))).toBe(413)
    session.destroy()
    server.close()
  })

  test('a body that somebody has read is not waited for', async () => {
    const page = admin({ token: TOKEN, caches: { items: hotCache<string, string>({ load: (key) => key, ttl: 1 }) } })
    const server = createServer((request, response) => {
      request.resume().once('end', () => page.handler(request, response))
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const headers = { authorization, 'content-type': 'application/json', 'content-length': 2 }
    const answer = await ask({ port, method: 'POST', path: '/caches/items/warm', headers, body: '{}' })
    expect([answer.status, fieldsOf(answer)['detail']]).toEqual([
      ...[500, 'The body was read before: mount this in front of what reads bodies.'],
    ])
    server.close()
  })
})

describe('listening', () => {
  test('once; and not after the end', async () => {
    const page = admin({ token: TOKEN })
    await page.listen({ port: 0 })
    await expect(page.listen({ port: 0 })).rejects.toThrow('admin listens already')
    await Promise.all([page.close(), page.close()])
    await expect(page.listen({ port: 0 })).rejects.toThrow('admin was closed')
  })

  test('the end of the page while it begins to listen leaves no server', async () => {
    const page = admin({ token: TOKEN })
    const listening = page.listen({ port: 0, host: 'localhost' })
    await page.close()
    await expect(listening).rejects.toThrow('admin was closed')
  })

  test('a port that is taken is told, and another one may be tried', async () => {
    await using office = await new Office().open()
    const page = admin({ token: TOKEN })
    await expect(page.listen({ port: office.port })).rejects.toThrow('EADDRINUSE')
    expect(await page.listen({ port: 0, host: 'localhost' })).toMatch(/^http:\/\//)
    await page.close()
  })
})

describe('bad options', () => {
  const items = hotCache<string, string>({ load: (key) => key, ttl: 1 })
  const rates = localTable<string, number>({ load: () => [], every: '1h' })
  rates.close()

  test.each<[string, unknown, string]>([
    [
      'a short token',
      { token: 'hunter2' },
      'admin.token: expected a token of at least 16 visible characters, got a text of 7 characters',
    ],
    [
      'a token that is none',
      { token: 7 },
      'admin.token: expected a token of at least 16 visible characters, got "number"',
    ],
    [
      'an unknown field',
      { tokens: 'x' },
      'admin.tokens: expected no such field; known: loopbackOnly, hosts, under, wait',
    ],
    [
      'a name for a path',
      { caches: { 'a/b': items } },
      'admin.caches: expected a name of 1 to 100 letters, digits and . _ -, without a dot in front, got "a/b"',
    ],
    ['a name too long', { caches: { ['x'.repeat(101)]: items } }, 'admin.caches: expected a name of'],
    ['a parent folder', { tables: { '..': rates } }, 'admin.tables: expected a name of'],
    ['a table as a cache', { caches: { rates } }, 'admin.caches.rates: expected a hotCache, got a localTable'],
    ['a Map as a table', { tables: { rates: new Map() } }, 'admin.tables.rates: expected a localTable, got an object'],
    [
      'nothing as a pipeline',
      { pipelines: { api: null } },
      'admin.pipelines.api: expected an object with inspect(), got null',
    ],
    ['a list', { caches: [items] }, 'admin.caches: expected an object of names, got a list'],
    [
      'too many',
      { pipelines: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`p${i}`, items])) },
      'admin.pipelines: expected at most 1000 names, got 1001 names',
    ],
    ['a long wait', { wait: '26s' }, 'admin.wait: expected at most 25000 ms'],
    ['an address as a host', { hosts: ['http://x'] }, 'admin.hosts[0]: expected a name such as'],
    ['half a path', { under: 'admin' }, 'admin.under: expected a path such as "/admin", got "admin"'],
  ])('%s', (_, options, fault) => {
    const given = { token: TOKEN, ...(options as object) } as AdminOptions
    expect(() => admin(given)).toThrow(fault)
    expect(() => admin(given)).not.toThrow('hunter2')
  })

  test.each([-1, 65_536, 1.5, '80', undefined])('port %s', async (port) => {
    await expect(admin({ token: TOKEN }).listen({ port } as { port: number })).rejects.toThrow('listen.port: expected')
  })
})
