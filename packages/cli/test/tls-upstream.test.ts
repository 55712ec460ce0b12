import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type Certificate, certificate } from './support/certificates.ts'
import { configFile, type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { filesOf, startSecureOrigin } from './support/tls.ts'
import { until } from './support/until.ts'

const authority = certificate('authority', { authority: true })
const ca = configFile(authority.cert, 'ca.pem')

/** A gateway before one server that is spoken to in TLS. */
async function start(port: number, tls: object = {}, host = 'localhost', config: object = {}): Promise<Gateway> {
  const clusters = { default: { endpoints: [`https://${host}:${port}`], tls } }
  return startGateway({
    upstreams: [],
    config: { upstreams: undefined, clusters, layers: [], endpoint: [], ...config },
  })
}

function serverOf({ cert, key }: Certificate): { readonly cert: string; readonly key: string } {
  return { cert, key }
}

const good = serverOf(certificate('server', { by: authority }))

describe('servers that prove who they are', () => {
  test('are spoken to, on connections that are kept', async () => {
    const origin = await startSecureOrigin(good)
    const gateway = await start(origin.port, { ca })
    for (let i = 0; i < 5; i++) expect(await ask(gateway.port)).toMatchObject({ status: 200, body: 'secret' })
    expect(origin.names).toEqual(['localhost'])
    expect((await gateway.inspect()).upstreams[0]?.connections).toEqual({ open: 1, waiting: 0 })
  })

  test('by address: it must be on the certificate; no name is sent', async () => {
    const origin = await startSecureOrigin(good)
    const gateway = await start(origin.port, { ca }, '127.0.0.1')
    expect((await ask(gateway.port)).status).toBe(200)
    expect(origin.names).toEqual([undefined])
  })

  test('under another name, where the settings say it', async () => {
    const named = certificate('named', { by: authority, names: ['inner.test'] })
    const origin = await startSecureOrigin(serverOf(named))
    const gateway = await start(origin.port, { ca, servername: 'inner.test' })
    expect((await ask(gateway.port)).status).toBe(200)
    expect(origin.names).toEqual(['inner.test'])
  })

  test('whatever Host a caller writes: it is no name for TLS, and no reason for a new connection', async () => {
    const origin = await startSecureOrigin(good)
    const gateway = await start(origin.port, { ca })
    for (const host of ['evil.test', 'other.test', 'evil.test']) {
      expect((await ask(gateway.port, { headers: { host } })).status).toBe(200)
    }
    expect(origin.names).toEqual(['localhost'])
  })

  test('are shown our certificate, if they ask for it', async () => {
    const clients = certificate('clients', { authority: true })
    const origin = await startSecureOrigin({
      ...good,
      ca: clients.cert,
      requestCert: true,
      rejectUnauthorized: true,
    })
    const gateway = await start(origin.port, { ca, ...filesOf(certificate('gateway', { by: clients })) })
    expect((await ask(gateway.port)).status).toBe(200)
    const unknown = await start(origin.port, { ca })
    expect((await ask(unknown.port)).status).toBe(502)
    expect(origin.hosts).toHaveLength(1)
  })
})

describe('servers that do not', () => {
  test.each<[string, Certificate, RegExp]>([
    ['nobody whom we know has signed for it', certificate('stranger'), /self.signed/],
    ['the certificate is for another name', certificate('other', { by: authority, names: ['other.test'] }), /altnames/],
    [
      'the certificate has expired',
      certificate('old', { by: authority, from: new Date(2020, 1), to: new Date(2021, 1) }),
      /expired/,
    ],
  ])('%s: they are sent nothing', async (_why, shown, reason) => {
    const origin = await startSecureOrigin(serverOf(shown))
    const gateway = await start(origin.port, { ca })
    const answer = await ask(gateway.port)
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'upstream-refused' })
    const [upstream] = (await gateway.inspect()).upstreams
    expect(upstream?.failures).toEqual({ tls: 1 })
    expect(upstream?.connections.trouble).toMatch(reason)
    expect(origin.hosts).toEqual([])
  })

  test('a server that speaks no TLS', async () => {
    const origin = await startOrigin()
    const gateway = await start(origin.port, { ca })
    expect((await ask(gateway.port)).status).toBe(502)
    expect((await gateway.inspect()).upstreams[0]?.failures).toEqual({ tls: 1 })
  })

  test('without "ca" only those whom Node trusts are trusted', async () => {
    const origin = await startSecureOrigin(good)
    const gateway = await start(origin.port)
    expect((await ask(gateway.port)).status).toBe(502)
  })

  test('another server takes over, since nothing was sent', async () => {
    const bad = await startSecureOrigin(serverOf(certificate('stranger')))
    const fine = await startSecureOrigin(good)
    const endpoints = [bad, fine].map(({ port }) => `https://localhost:${port}`)
    const clusters = { default: { endpoints, tls: { ca } } }
    const layers = [{ kind: 'retry', attempts: 2, backoff: { first: '1ms' } }]
    const gateway = await startGateway({ upstreams: [], config: { upstreams: undefined, clusters, layers } })
    for (let i = 0; i < 6; i++) expect((await ask(gateway.port, { method: 'POST', body: 'x' })).status).toBe(200)
    expect(bad.hosts).toEqual([])
  })

  test('may be anybody where "insecure" says so, which is told', async () => {
    const origin = await startSecureOrigin(serverOf(certificate('stranger')))
    const gateway = await start(origin.port, { insecure: true })
    expect((await ask(gateway.port)).body).toBe('secret')
    expect(gateway.log).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'tls.insecure: nobody checks who answers in the name of cluster "default"',
      }),
    )
  })
})

test('the top level says it for all clusters, and for "upstreams"', async () => {
  const origin = await startSecureOrigin(good)
  const upstreams = [`https://localhost:${origin.port}`]
  const gateway = await startGateway({ upstreams: [], config: { upstreams, upstreamTls: { ca } } })
  expect((await ask(gateway.port)).body).toBe('secret')
})

describe('an answer that ends with its connection', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n'

  /** `end`: what the server does when it has written all that it writes. */
  async function answering(text: string, end: (socket: Socket) => void): Promise<Gateway> {
    const origin = await startSecureOrigin(good, ({ socket }) => void socket.write(text, () => end(socket)))
    return start(origin.port, { ca })
  }

  const goodbye = (socket: Socket): void => void socket.end()
  /** TCP ends, and TLS says nothing. */
  const cut = (socket: Socket): void => void socket.destroy()

  test('with a goodbye it is whole', async () => {
    const gateway = await answering(`${head}\r\nall of it`, goodbye)
    expect(await ask(gateway.port)).toMatchObject({ status: 200, body: 'all of it' })
    expect((await gateway.inspect()).upstreams[0]?.failures).toEqual({})
  })

  test('with one that comes late, behind more than is read at once, it is whole, also for a slow reader', async () => {
    const large = 'x'.repeat(5_000_000)
    const gateway = await answering(`${head}\r\n${large}`, goodbye)
    const line = await wire(gateway.port)
    line.socket.pause()
    line.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 300))
    line.socket.resume()
    await until(() => line.text.endsWith('0\r\n\r\n'))
    expect(line.text.match(/x/g)?.length).toBeGreaterThanOrEqual(5_000_000)
    expect((await gateway.inspect()).upstreams[0]?.failures).toEqual({})
  })

  test.each([
    ['at once', 0],
    ['later', 100],
  ])('without a goodbye, %s, nobody takes it for the whole, and it is a failure', async (_when, afterMs) => {
    const gateway = await answering(`${head}\r\nhalf of it`, (socket) => setTimeout(cut, afterMs, socket))
    const line = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => line.closed || line.statuses[0] === 502)
    expect(line.text).not.toMatch(/half of it\r\n0\r\n\r\n$/)
    expect((await gateway.inspect()).upstreams[0]?.failures).toMatchObject({ reset: 1 })
  })

  test.each([
    ['its length', `${head}Content-Length: 9\r\n\r\nall of it`],
    ['its last chunk', `${head}Transfer-Encoding: chunked\r\n\r\n9\r\nall of it\r\n0\r\n\r\n`],
  ])('where %s says that it is whole, it needs no goodbye', async (_what, text) => {
    const gateway = await answering(text, cut)
    expect(await ask(gateway.port)).toMatchObject({ status: 200, body: 'all of it' })
    expect((await gateway.inspect()).upstreams[0]?.failures).toEqual({})
  })

  test('one without a body needs none', async () => {
    const gateway = await answering(`${head}\r\n`, cut)
    expect((await ask(gateway.port, { method: 'HEAD' })).status).toBe(200)
  })
})
