import { beforeAll, describe, expect, test } from 'vitest'
import { targetOf } from '../src/gateway/config/address.ts'
import { type Gateway, startGateway } from './support/gateway.ts'
import { wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// C31: where does a request go? Two clusters: what is open, and what is guarded.

let gateway: Gateway
let open: Origin
let guarded: Origin

beforeAll(async () => {
  open = await startOrigin()
  guarded = await startOrigin()
  gateway = await startGateway({
    upstreams: [],
    config: {
      upstreams: undefined,
      clusters: {
        open: { endpoints: [`http://127.0.0.1:${open.port}`] },
        guarded: { endpoints: [`http://127.0.0.1:${guarded.port}`] },
        based: { endpoints: [`http://127.0.0.1:${open.port}/base/v1/`] },
      },
      routes: [
        { id: 'admin', path: '/admin/**', cluster: 'guarded' },
        { id: 'host', host: ['only.test', '*.all.test'], cluster: 'guarded' },
        { id: 'based', path: '/based/**', cluster: 'based', rewrite: '/{rest}' },
        { id: 'as-is', path: '/asis/**', cluster: 'based' },
        { id: 'rest', cluster: 'open' },
      ],
    },
  })
})

/** Where it went, and as what: `open /path`. */
async function wayOf(first: string, host = 'a.test'): Promise<string> {
  const before = [open.seen.length, guarded.seen.length]
  const line = await wire(gateway.port, Buffer.from(`${first} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 'latin1'))
  await until(() => line.statuses.length === 1)
  line.socket.destroy()
  const [status] = line.statuses
  if (status !== 200) return String(status)
  const seen = open.seen[before[0] as number] ?? guarded.seen[before[1] as number]
  const to = open.seen.length > (before[0] as number) ? open : guarded
  expect(seen?.headers.host).toBe(`127.0.0.1:${to.port}`)
  return `${to === open ? 'open' : 'guarded'} ${seen?.url}`
}

describe('C31: targets', () => {
  test.each([
    ['//10.10.10.10/', 'open //10.10.10.10/'],
    ['//evil.test/x', 'open //evil.test/x'],
    ['/\\evil.test', 'open /\\evil.test'],
    ['http://evil.test/x', 'open /x'],
    ['http://evil.test//x', 'open //x'],
    ['/@evil.test', 'open /@evil.test'],
    ['/duck?redirect_uri=//q.test', 'open /duck?redirect_uri=//q.test'],
    ['/duck?a=%zz&b=../%2e%2e/admin', 'open /duck?a=%zz&b=../%2e%2e/admin'],
    ['/_next/%5B...slug%5D.js', 'open /_next/%5B...slug%5D.js'],
    ['/_next/[...slug].js', 'open /_next/[...slug].js'],
    ['/a//b', 'open /a//b'],
    ['/a%2Fb;v=1', 'open /a%2Fb;v=1'],
    ['/caf%c3%a9', 'open /caf%C3%A9'],
    ['/a/../b', 'open /b'],
    ['/a/../admin', 'guarded /admin'],
    ['/%61dmin/x', 'guarded /admin/x'],
    ['/a/%2e%2e/admin', 'guarded /admin'],
    ['http://evil.test/a/../admin', 'guarded /admin'],
    ['/%2e%2e/admin', '400'],
    ['/a/..%2f..%2fadmin', '400'],
    ['/a/..%2fadmin', '400'],
    ['/a/..;/admin', '400'],
    ['//admin', '400'],
    ['/admin;x', '400'],
    ['/admin%2fx', '400'],
    ['/\\admin', '400'],
    ['/%252e%252e/admin', '400'],
    ['/a%00b', '400'],
    ['/%zz', '400'],
    ['/a#b', '400'],
    ['/\xe9', '400'],
    ['ftp://evil.test/', '400'],
    ['evil.test', '400'],
  ])('%s: %s', async (target, way) => {
    expect(await wayOf(`GET ${target}`)).toBe(way)
  })

  test('a path of 64 KB is refused', async () => {
    expect(await wayOf(`GET /${'a'.repeat(65_536)}`)).toBe('414')
  })

  test('a path of 64 KB passes where heads may be so long', async () => {
    const roomy = await startGateway({ upstreams: [open.port], config: { limits: { headerBytes: 100_000 } } })
    const path = `/${'a/'.repeat(32_768)}`
    const line = await wire(roomy.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await until(() => line.statuses.length === 1)
    // The server behind has limits of its own.
    expect([200, 431]).toContain(line.statuses[0])
    line.socket.destroy()
    await roomy.quiet()
  })
})

describe('C31: hosts', () => {
  test.each([
    ['only.test', 'guarded /'],
    ['only.test:80', 'guarded /'],
    ['ONLY.TEST', 'guarded /'],
    ['only.test.', 'guarded /'],
    ['Only.Test.:8080', 'guarded /'],
    ['x.all.test', 'guarded /'],
    ['all.test', 'open /'],
    ['xonly.test', 'open /'],
    ['127.0.0.1', 'open /'],
    ['[::1]', 'open /'],
  ])('%s: %s', async (host, way) => {
    expect(await wayOf('GET /', host)).toBe(way)
  })

  test('an absolute target chooses by its own host', async () => {
    expect(await wayOf('GET http://only.test/', 'a.test')).toBe('guarded /')
    expect(await wayOf('GET http://a.test/', 'only.test')).toBe('open /')
  })
})

describe('C31: what stands before a path', () => {
  test.each([
    ['/asis/x?y', 'open /base/v1/asis/x?y'],
    ['/based/x', 'open /base/v1/x'],
    ['/based', 'open /base/v1/'],
    ['/based//evil.test', 'open /base/v1//evil.test'],
    ['/based/../x', 'open /x'],
    ['/based/%2e%2e/%2e%2e/x', '400'],
    ['/based/..%2f..%2fx', '400'],
  ])('%s: %s', async (path, way) => {
    expect(await wayOf(`GET ${path}`)).toBe(way)
  })

  test.each([
    ['http://x.test', { origin: 'http://x.test', base: '', id: 'x.test:80' }],
    ['http://x.test:80', { origin: 'http://x.test', base: '', id: 'x.test:80' }],
    ['http://x.test:80/', { origin: 'http://x.test', base: '', id: 'x.test:80' }],
    ['http://X.test/base', { origin: 'http://x.test', base: '/base', id: 'x.test:80/base' }],
    ['http://x.test/base/', { origin: 'http://x.test', base: '/base', id: 'x.test:80/base' }],
    ['http://x.test/a/../b', { origin: 'http://x.test', base: '/b', id: 'x.test:80/b' }],
  ])('%s', (text, target) => {
    expect(targetOf(text)).toEqual(target)
  })

  test.each([
    'http://x/a?b',
    'http://x/#a',
    'http://x/a;b',
    'http://x/a%2fb',
    'http://x//a',
    'http://x/a//',
    'ftp://x/',
  ])('%s is none', (text) => {
    expect(targetOf(text)).toHaveProperty('expected')
  })
})
