import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { certificate } from './support/certificates.ts'
import { later } from './support/cleanup.ts'
import { configFile, type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin, startTcp } from './support/origin.ts'
import { askTls, filesOf, wireTls } from './support/tls.ts'
import { until } from './support/until.ts'

const authority = certificate('authority', { authority: true })
const site = certificate('site', { by: authority })
const { cert: ca } = authority

async function start(tls: object, config: object = {}, upstream?: number): Promise<Gateway> {
  const port = upstream ?? (await startOrigin()).port
  return startGateway({ upstreams: [port], config: { tls: { ...filesOf(site), ...tls }, ...config } })
}

describe('termination', () => {
  test('clients speak TLS, servers hear which; the certificate is shown with those that lead to its root', async () => {
    const origin = await startOrigin()
    const between = certificate('between', { by: authority, authority: true })
    const leaf = certificate('leaf', { by: between })
    const files = { cert: configFile(leaf.cert + between.cert), key: configFile(leaf.key) }
    const gateway = await start(files, {}, origin.port)
    expect(gateway.log[0]).toMatchObject({ listen: `https://127.0.0.1:${gateway.port}` })
    const answer = await askTls(gateway.port, { ca })
    expect(answer).toMatchObject({ status: 200, body: 'ok', shown: 'leaf', protocol: 'TLSv1.3' })
    expect(origin.seen[0]?.headers).toMatchObject({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' })
    expect((await gateway.inspect()).certificates).toEqual([
      expect.objectContaining({ hosts: [], subject: 'CN=leaf', validTo: expect.stringMatching(/^\d{4}-/) }),
    ])
  })

  test('TLS 1.2 is the least, or what is said', async () => {
    const usual = await start({})
    expect((await askTls(usual.port, { ca, maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2')
    const old = { ca, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    await expect(askTls(usual.port, old)).rejects.toThrow(/alert/)
    const strict = await start({ minVersion: 'TLSv1.3' })
    expect((await askTls(strict.port, { ca })).protocol).toBe('TLSv1.3')
    await expect(askTls(strict.port, { ca, maxVersion: 'TLSv1.2' })).rejects.toThrow(/alert/)
  })

  test('HTTP/1.1 is what it speaks, and it says so', async () => {
    const gateway = await start({})
    const both = await wireTls(gateway.port, { ca, ALPNProtocols: ['h2', 'http/1.1'] })
    expect(both.alpnProtocol).toBe('http/1.1')
    await expect(wireTls(gateway.port, { ca, ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/i)
  })

  test('hosts have certificates of their own, the exact one before the wildcard, the first for the rest', async () => {
    const of = (name: string, host: string) => ({
      host,
      ...filesOf(certificate(name, { by: authority, names: [host] })),
    })
    const sni = [of('wild', '*.shop.test'), of('one', 'one.shop.test')]
    const gateway = await start({ sni })
    const shown = async (servername: string) =>
      (await askTls(gateway.port, { ca, servername, checkServerIdentity: () => undefined })).shown
    expect(await shown('one.shop.test')).toBe('one')
    expect(await shown('ONE.shop.test')).toBe('one')
    expect(await shown('two.shop.test')).toBe('wild')
    expect(await shown('shop.test')).toBe('site')
    expect(await shown('localhost')).toBe('site')
    expect(await shown('')).toBe('site')
  })

  test('a WebSocket through TLS: it opens, and a drain ends it in time', async () => {
    const key = Buffer.alloc(16, 7).toString('base64')
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
    const origin = await startTcp((tunnel) => {
      tunnel.once('data', () => {
        const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket']
        tunnel.write(`${[...head, `Sec-WebSocket-Accept: ${accept}`].join('\r\n')}\r\n\r\n`)
      })
    })
    const gateway = await start({}, { drain: '2s', drainDelay: 0 }, origin.port)
    const socket = await wireTls(gateway.port, { ca })
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    const lines = ['Host: x', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    socket.write(`GET / HTTP/1.1\r\n${[...lines, `Sec-WebSocket-Key: ${key}`].join('\r\n')}\r\n\r\n`)
    await until(() => text.includes('101 Switching Protocols'))
    gateway.cli.kill('SIGTERM')
    await gateway.cli.finished()
    await until(() => socket.destroyed && origin.sockets.size === 0)
  })

  test('plain HTTP and TLS at two addresses', async () => {
    const origin = await startOrigin()
    const gateway = await start({ listen: '127.0.0.1:0' }, {}, origin.port)
    const [ready] = gateway.log
    expect(ready?.['listen']).toMatch(/^http:/)
    expect(ready?.['tls']).toMatch(/^https:/)
    await ask(gateway.port)
    await askTls(Number(new URL(String(ready?.['tls'])).port), { ca })
    expect(origin.seen.map(({ headers }) => headers['x-forwarded-proto'])).toEqual(['http', 'https'])
  })
})

describe('certificates of clients', () => {
  const clients = certificate('clients', { authority: true })
  const known = certificate('known', { by: clients })
  const stranger = certificate('stranger')
  const asked = (clientCert: string) => ({ clientCert, ca: configFile(clients.cert) })

  test('required: none and a wrong one are refused, a right one is passed on', async () => {
    const origin = await startOrigin()
    const gateway = await start(asked('require'), {}, origin.port)
    await expect(askTls(gateway.port, { ca })).rejects.toThrow()
    await expect(askTls(gateway.port, { ca, cert: stranger.cert, key: stranger.key })).rejects.toThrow()
    const headers = { 'client-cert': ':forged:', 'Client-Cert-Chain': ':forged:' }
    const answer = await askTls(gateway.port, { ca, cert: known.cert, key: known.key, headers })
    expect(answer.status).toBe(200)
    const told = origin.seen.map((seen) => [seen.headers['client-cert'], seen.headers['client-cert-chain']])
    const der = known.cert.replace(/-----.*-----|\n/g, '')
    expect(told).toEqual([[`:${der}:`, undefined]])
    expect((await gateway.inspect()).gateway.handshakesFailed).toBe(2)
  })

  test('asked for: none will do, a wrong one is refused all the same', async () => {
    const origin = await startOrigin()
    const gateway = await start(asked('request'), {}, origin.port)
    expect((await askTls(gateway.port, { ca, headers: { 'client-cert': ':forged:' } })).status).toBe(200)
    expect((await askTls(gateway.port, { ca, cert: known.cert, key: known.key })).status).toBe(200)
    await expect(askTls(gateway.port, { ca, cert: stranger.cert, key: stranger.key })).rejects.toThrow()
    expect(origin.seen.map((seen) => typeof seen.headers['client-cert'])).toEqual(['undefined', 'string'])
  })
})

describe('abuse', () => {
  test('a handshake that does not come, or is none, is cut and counted', async () => {
    const gateway = await start({}, { limits: { handshake: '300ms' } })
    const silent = await wire(gateway.port)
    const half = await wire(gateway.port, Buffer.from('160301020001', 'hex'))
    await until(async () => expect((await gateway.inspect()).gateway.handshaking).toBe(2))
    await until(() => silent.closed && half.closed)
    const plain = await wire(gateway.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(() => plain.closed)
    await until(async () =>
      expect((await gateway.inspect()).gateway).toMatchObject({ handshaking: 0, handshakesFailed: 3 }),
    )
    expect(plain.text).not.toContain('HTTP/1.1')
    expect((await askTls(gateway.port, { ca })).status).toBe(200)
  })

  test('an answer that broke off cannot pass for a whole one', async () => {
    const origin = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
        setTimeout(() => socket.resetAndDestroy(), 50)
      })
    })
    const gateway = await start({}, { layers: [] }, origin.port)
    await expect(askTls(gateway.port, { ca })).rejects.toThrow(/ECONNRESET|aborted/)
    await gateway.quiet()
  })

  test('a client that reads nothing is cut', async () => {
    const origin = await startOrigin((_request, response) => response.end(Buffer.alloc(64 * 1024 * 1024)))
    const gateway = await start({}, { layers: [], limits: { stall: '500ms' } }, origin.port)
    const socket = await wireTls(gateway.port, { ca })
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await until(async () => expect((await gateway.inspect()).gateway.clientsGone).toBe(1))
    await gateway.quiet()
  })

  test('many requests on a connection, in pieces', async () => {
    const gateway = await start({})
    const socket = await wireTls(gateway.port, { ca })
    let text = ''
    socket.on('data', (chunk) => {
      text += String(chunk)
    })
    const request = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc'
    for (let i = 0; i < 20; i++) {
      socket.write(request.slice(0, 30))
      await pause(1)
      socket.write(request.slice(30))
      await until(() => (text.match(/200 OK/g) ?? []).length === i + 1)
    }
    socket.destroy()
    await gateway.quiet()
  })

  test('more connections than the limit are closed at once, and counted', async () => {
    const gateway = await start({}, { limits: { clients: 2 } })
    const first = await wireTls(gateway.port, { ca })
    const second = connect(gateway.port, '127.0.0.1')
    later(() => void second.destroy())
    await once(second, 'connect')
    const third = await wire(gateway.port)
    await until(() => third.closed)
    expect((await gateway.inspect()).gateway.connectionsRefused).toBe(1)
    first.destroy()
    second.destroy()
    await gateway.quiet()
    expect((await askTls(gateway.port, { ca })).status).toBe(200)
  })
})
