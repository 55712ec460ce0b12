import { existsSync, readFileSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Entry } from '../src/gateway/access/entry.ts'
import { writers } from '../src/gateway/access/formats.ts'
import { isRequestId } from '../src/gateway/heads/request-ids.ts'
import { traceOf } from '../src/gateway/heads/trace-context.ts'
import { run } from './support/child.ts'
import { configFile, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'
import { echo, frame, handshake } from './support/websocket.ts'

const entry: Entry = {
  at: Date.UTC(2026, 9, 10, 13, 55, 36, 250),
  id: 'a1-1',
  trace: '',
  client: '192.0.2.7',
  method: 'GET',
  target: '/items/7?token=secret',
  version: '1.1',
  host: 'shop.test',
  referrer: 'http://shop.test/list?q=secret#top',
  agent: 'Mozilla/5.0 "x"',
  route: 'items',
  upstream: '10.0.0.1:3000',
  attempts: 2,
  status: 200,
  sentBytes: 2326,
  code: '',
  cut: false,
  tookMs: 12.3456,
}

describe('a line', () => {
  test('combined, as Apache and nginx write it', () => {
    expect(writers.combined(entry, true)).toBe(
      '192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET /items/7?token=secret HTTP/1.1" 200 2326 ' +
        '"http://shop.test/list?q=secret#top" "Mozilla/5.0 \\"x\\""',
    )
  })

  test('says what came of it, as JSON', () => {
    expect(JSON.parse(writers.json({ ...entry, trace: '4bf92f3577b34da6a3ce929d0e0e4736' }, false))).toEqual({
      time: '2026-10-10T13:55:36.250Z',
      id: 'a1-1',
      trace: '4bf92f3577b34da6a3ce929d0e0e4736',
      client: '192.0.2.7',
      method: 'GET',
      target: '/items/7',
      version: '1.1',
      host: 'shop.test',
      referrer: 'http://shop.test/list',
      agent: 'Mozilla/5.0 "x"',
      route: 'items',
      upstream: '10.0.0.1:3000',
      attempts: 2,
      status: 200,
      bytes: 2326,
      ms: 12.35,
    })
  })

  test.each(['json', 'combined'] as const)('%s: the query is a secret unless it is asked for', (format) => {
    expect(writers[format](entry, false)).not.toContain('secret')
    expect(writers[format](entry, true)).toContain('token=secret')
  })

  test.each(['json', 'combined'] as const)('%s: nothing a client wrote makes a second line or field', (format) => {
    const evil = 'x" 200 0 "-" "-"\n127.0.0.1 - - \u0000\u001b[31m\u2028é'
    const line = writers[format]({ ...entry, target: `/${evil}`, agent: evil, referrer: evil, method: evil }, true)
    expect([...line].filter((one) => one < ' ')).toEqual([])
    // In the combined format a reader splits at quotes that are not escaped: request, referrer, agent.
    if (format === 'combined') expect(line.replace(/\\./g, '').split('"')).toHaveLength(7)
    else expect(JSON.parse(line)).toMatchObject({ agent: evil, target: `/${evil}` })
  })

  test('has an end, whatever was asked for', () => {
    const line = writers.combined({ ...entry, target: `/${'a'.repeat(100_000)}`, agent: 'b'.repeat(100_000) }, true)
    expect(line.length).toBeLessThan(5000)
  })

  test('a client that left without an answer is a 499', () => {
    expect(writers.combined({ ...entry, status: 0 }, false)).toContain('" 499 ')
  })
})

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('W3C trace context', () => {
  test.each([
    [PARENT, '4bf92f3577b34da6a3ce929d0e0e4736'],
    [`01${PARENT.slice(2)}-more`, '4bf92f3577b34da6a3ce929d0e0e4736'],
    [`${PARENT}-more`, ''],
    [`ff${PARENT.slice(2)}`, ''],
    [PARENT.toUpperCase(), ''],
    [PARENT.replace('4bf92f3577b34da6a3ce929d0e0e4736', '0'.repeat(32)), ''],
    [PARENT.replace('00f067aa0ba902b7', '0'.repeat(16)), ''],
    [PARENT.slice(0, -1), ''],
    [PARENT.replace('-01', ' 01'), ''],
    ['', ''],
  ])('%s', (value, trace) => {
    expect(traceOf(value)).toBe(trace)
  })

  test('is passed on byte for byte; what is none is not, nor is its state', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port] })
    await ask(gateway.port, { headers: { traceparent: PARENT, tracestate: 'a=1' } })
    await ask(gateway.port, { headers: { tracestate: 'a=1', traceparent: 'nonsense' } })
    await ask(gateway.port, { headers: ['Host', 'x', 'traceparent', PARENT, 'traceparent', PARENT] })
    const seen = origin.seen.map(({ headers: { traceparent, tracestate } }) => ({ traceparent, tracestate }))
    expect(seen).toEqual([{ traceparent: PARENT, tracestate: 'a=1' }, {}, {}])
  })
})

describe('names of requests', () => {
  test.each([
    ['7d1f2c9a', true],
    ['a:b_c.d-E', true],
    ['', false],
    ['a b', false],
    ['a"b', false],
    ['a\nb', false],
    ['é', false],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
  ])('%j', (text, fine) => {
    expect(isRequestId(text)).toBe(fine)
  })

  test("are the gateway's, whatever a stranger or the server says, and the same at both ends", async () => {
    const origin = await startOrigin((_request, response) => {
      response.setHeader('X-Request-Id', 'the-servers-own')
      response.end('ok')
    })
    const gateway = await startGateway({ upstreams: [origin.port] })
    const answers = [
      await ask(gateway.port, { headers: { 'X-Request-Id': 'mine' } }),
      await ask(gateway.port),
      await ask(gateway.port),
    ]
    const told = answers.map(({ headers }) => headers['x-request-id'])
    expect(new Set(told).size).toBe(3)
    expect(told).not.toContain('mine')
    expect(origin.seen.map(({ headers }) => headers['x-request-id'])).toEqual(told)
    // Answers of its own have one, too.
    const refused = await wire(gateway.port, 'GET / HTTP/1.1\r\n\r\n')
    await until(() => refused.statuses.length === 1)
    const [, name] = /X-Request-Id: (\S+)/i.exec(refused.text) ?? []
    expect(refused.text).toContain(`"requestId":"${name}"`)
  })
})

describe('a log', () => {
  const linesOf = (file: string): Record<string, unknown>[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  test('has a line for each request, whatever came of it, and the last one is there at the end', async () => {
    const origin = await startOrigin((request, response) => {
      if (request.url === '/break') {
        response.write('half of it')
        setTimeout(() => response.destroy(), 20)
      } else if (request.url === '/slow') setTimeout(() => response.end('late'), 60_000).unref()
      else response.end('0123456789')
    })
    const folder = dirname(configFile('', 'unused'))
    const to = join(folder, 'access.log')
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: {
        routes: [{ id: 'all', path: '/**', methods: ['GET', 'POST'], limits: { body: 10 } }],
        accessLog: { to },
        layers: [],
        endpoint: [],
      },
    })
    await ask(gateway.port, { path: '/good?q=1', headers: { 'User-Agent': 'tester', traceparent: PARENT } })
    await ask(gateway.port, { path: '/break' }).catch(() => {})
    await ask(gateway.port, { path: '/good', method: 'DELETE' })
    await ask(gateway.port, { path: '/good', method: 'POST', body: 'much too long a body' })
    const bad = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')
    await until(() => bad.statuses.length === 1)
    const left = await wire(gateway.port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(async () => (await gateway.inspect()).gateway.inFlight === 1)
    left.socket.destroy()
    await until(async () => (await gateway.inspect()).gateway.inFlight === 0)
    gateway.cli.kill('SIGTERM')
    await gateway.cli.finished()
    const lines = linesOf(to)
    const short = lines.map(({ target, method, status, code, cut, bytes, route }) => ({
      asked: `${String(method)} ${String(target)}`,
      status,
      bytes,
      route,
      ...(code === undefined ? {} : { code }),
      ...(cut === undefined ? {} : { cut }),
    }))
    expect(short).toEqual([
      { asked: 'GET /good', status: 200, bytes: 10, route: 'all' },
      { asked: 'GET /break', status: 200, bytes: 10, route: 'all', cut: true },
      { asked: 'DELETE /good', status: 405, bytes: 0, route: '', code: 'method-not-allowed' },
      { asked: 'POST /good', status: 413, bytes: 0, route: '', code: 'body-too-large' },
      { asked: 'GET /', status: 400, bytes: 0, route: '', code: 'bad-request' },
      { asked: 'GET /slow', status: 0, bytes: 0, route: 'all', cut: true },
    ])
    expect(lines[0]).toMatchObject({
      agent: 'tester',
      trace: '4bf92f3577b34da6a3ce929d0e0e4736',
      upstream: `127.0.0.1:${origin.port}`,
      attempts: 1,
      version: '1.1',
    })
  })

  test.each(['json', 'combined'] as const)('C30: has a line for what was no request, too: %s', async (format) => {
    const origin = await startOrigin()
    const to = join(dirname(configFile('', 'unused')), 'access.log')
    const gateway = await startGateway({ upstreams: [origin.port], config: { accessLog: { to, format } } })
    const texts = [
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n',
      '\x16\x03\x01\x02\0',
    ]
    const statuses: (number | undefined)[] = []
    for (const text of texts) {
      const line = await wire(gateway.port, text)
      await until(() => line.closed)
      statuses.push(line.statuses[0])
    }
    expect(statuses).toEqual([400, 400, 431, 405, 400])
    gateway.cli.kill('SIGTERM')
    await gateway.cli.finished()
    if (format === 'combined') {
      const lines = readFileSync(to, 'utf8').trim().split('\n')
      expect(lines.map((line) => line.replace(/^127\.0\.0\.1 - - \[[^\]]+\] /, ''))).toEqual([
        '"-" 400 0 "-" "-"',
        expect.stringMatching(/^"POST \/ HTTP\/1\.1" 400 \d+ "-" "-"$/),
        '"-" 431 0 "-" "-"',
        '"CONNECT x:1 HTTP/1.1" 405 0 "-" "-"',
        '"-" 400 0 "-" "-"',
      ])
      return
    }
    const lines = linesOf(to)
    expect(lines.map(({ client, method, target, status, code }) => ({ client, method, target, status, code }))).toEqual(
      [
        { client: '127.0.0.1', method: '', target: '', status: 400, code: 'bad-request' },
        { client: '127.0.0.1', method: 'POST', target: '/', status: 400, code: 'bad-request' },
        { client: '127.0.0.1', method: '', target: '', status: 431, code: 'headers-too-large' },
        { client: '127.0.0.1', method: 'CONNECT', target: 'x:1', status: 405, code: 'method-not-allowed' },
        { client: '127.0.0.1', method: '', target: '', status: 400, code: 'bad-request' },
      ],
    )
    // Under the name that the client was told.
    expect(new Set(lines.map(({ id }) => id)).size).toBe(texts.length)
  })

  test('of errors only', async () => {
    const origin = await startOrigin((request, response) => {
      response.statusCode = request.url === '/bad' ? 500 : 404
      response.end()
    })
    const to = join(dirname(configFile('', 'unused')), 'access.log')
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { accessLog: { to, only: 'errors' }, layers: [], endpoint: [] },
    })
    await ask(gateway.port, { path: '/none' })
    await ask(gateway.port, { path: '/bad' })
    gateway.cli.kill('SIGTERM')
    await gateway.cli.finished()
    expect(linesOf(to).map(({ target }) => target)).toEqual(['/bad'])
  })

  test('goes on in a new file when the old one was moved away', async () => {
    const origin = await startOrigin()
    const to = join(dirname(configFile('', 'unused')), 'access.log')
    const gateway = await startGateway({ upstreams: [origin.port], config: { accessLog: { to } } })
    await ask(gateway.port, { path: '/before' })
    await until(() => readFileSync(to, 'utf8').includes('/before'))
    renameSync(to, `${to}.1`)
    gateway.cli.kill('SIGHUP')
    await until(async () => {
      await ask(gateway.port, { path: '/after' })
      try {
        return readFileSync(to, 'utf8').includes('/after')
      } catch {
        return false
      }
    })
    expect(readFileSync(`${to}.1`, 'utf8')).toContain('/before')
  })

  test('that cannot be opened: one clear line, exit code 2', async () => {
    const file = configFile(
      JSON.stringify({ upstreams: ['http://127.0.0.1:1'], accessLog: { to: '/nowhere/at/all/access.log' } }),
    )
    const { code, stderr } = await run('gateway', '--config', file)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^accessLog\.to: expected a file .* \/nowhere\/at\/all\/access\.log .*\n$/)
  })
})

test('a connection that is upgraded has its line when it is over, with its bytes', async () => {
  const origin = await startOrigin(undefined, 0, echo)
  const to = join(dirname(configFile('', 'unused')), 'access.log')
  const gateway = await startGateway({ upstreams: [origin.port], config: { accessLog: { to } } })
  const line = await wire(gateway.port, handshake())
  await until(() => line.statuses[0] === 101)
  line.write(frame('x'.repeat(1000), { mask: Buffer.from([1, 2, 3, 4]) }))
  await until(() => line.text.includes('x'.repeat(1000)))
  expect((await ask(gateway.port)).status).toBe(200)
  line.socket.destroy()
  await gateway.quiet()
  gateway.cli.kill('SIGINT')
  await gateway.cli.finished()
  const [first, second, ...more] = readFileSync(to, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text))
  expect(first).toMatchObject({ status: 200 })
  // The frame, with four bytes before it.
  expect(second).toMatchObject({ status: 101, bytes: 1004, upstream: `127.0.0.1:${origin.port}`, attempts: 1 })
  expect(more).toEqual([])
})

test('--check finds a log that could not be written, and makes none', async () => {
  const folder = dirname(configFile('', 'unused'))
  const check = (to: string) =>
    run(
      'gateway',
      '--check',
      '--config',
      configFile(JSON.stringify({ upstreams: ['http://127.0.0.1:1'], accessLog: { to } })),
    )
  for (const to of ['/nowhere/at/all/access.log', folder]) {
    const { code, stderr } = await check(to)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^accessLog\.to: expected a file that can be written, got .*\n$/)
  }
  const to = join(folder, 'access.log')
  expect((await check(to)).code).toBe(0)
  expect(existsSync(to)).toBe(false)
})
