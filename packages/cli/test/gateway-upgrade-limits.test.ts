import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'undici'
import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask, type Wire, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'
import { echo, frame, framesIn, handshake, KEY, mirror, yes } from './support/websocket.ts'

const config = { layers: [], endpoint: [{ kind: 'timeout', after: '500ms' }] }
const mask = Buffer.from([1, 2, 3, 4])

/** What came behind the head of the answer, as frames. */
function framesOf({ text }: Wire): ReturnType<typeof framesIn>['frames'] {
  return framesIn(Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1')).frames
}

describe('tunnels have an end', () => {
  test('when nothing passes for too long: both sides are told 1001', async () => {
    const heard: Buffer[] = []
    const origin = await startOrigin(undefined, 0, (request, socket, head) => {
      socket.on('data', (bytes) => heard.push(bytes))
      echo(request, socket, head)
    })
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { ...config, limits: { upgradeIdle: '1s' } },
    })
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/`)
    await once(socket, 'open')
    // Who says something now and then stays.
    for (let i = 0; i < 4; i++) {
      await pause(400)
      socket.send('here')
      await once(socket, 'message')
    }
    const [{ code }] = (await once(socket, 'close')) as [{ code: number }]
    expect(code).toBe(1001)
    await until(() => origin.sockets.size === 0)
    const { frames } = framesIn(Buffer.concat(heard))
    expect(frames.every(({ masked }) => masked)).toBe(true)
    const goodbyes = frames.filter(({ opcode }) => opcode === 8)
    expect(goodbyes.length).toBeGreaterThan(0)
    for (const { payload } of goodbyes) expect(payload.readUInt16BE(0)).toBe(1001)
    expect((await gateway.quiet()).gateway.upgrades.open).toBe(0)
  })

  test('so many and no more: the next one is told 503', async () => {
    const origin = await startOrigin(undefined, 0, mirror)
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { upgrades: 2 } } })
    const lines = [await wire(gateway.port, handshake()), await wire(gateway.port, handshake())]
    await until(() => lines.every(({ statuses }) => statuses[0] === 101))
    const third = await wire(gateway.port, handshake())
    await until(() => third.closed)
    expect(third.statuses).toEqual([503])
    expect(third.text).toContain('"code":"too-many-upgrades"')
    expect((await gateway.inspect()).gateway.upgrades).toMatchObject({ open: 2, opened: 2 })
    for (const line of lines) line.socket.destroy()
    await gateway.quiet()
    const fourth = await wire(gateway.port, handshake())
    await until(() => fourth.statuses[0] === 101)
  })

  test('C17: a slot is held while the tunnel lives, and no longer', async () => {
    const origin = await startOrigin(undefined, 0, mirror)
    const endpoint = [{ kind: 'bulkhead', slots: 1 }]
    const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [], endpoint } })
    const line = await wire(gateway.port, handshake())
    await until(() => line.statuses[0] === 101)
    expect((await ask(gateway.port)).status).toBe(503)
    line.socket.destroy()
    await gateway.quiet()
    expect((await ask(gateway.port)).status).toBe(200)
    const { calls } = (await gateway.quiet()).pipeline
    expect(calls).toMatchObject({ success: 2, failure: 0 })
  })

  test('a tunnel takes no place among the connections', async () => {
    const origin = await startOrigin(undefined, 0, mirror)
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { connections: 1 } } })
    const lines = await Promise.all([1, 2, 3].map(() => wire(gateway.port, handshake())))
    await until(() => lines.every(({ statuses }) => statuses[0] === 101))
    expect((await ask(gateway.port)).status).toBe(200)
    for (const line of lines) line.write('still there')
    await until(() => lines.every(({ text }) => text.endsWith('still there')))
    for (const line of lines) line.socket.destroy()
    await gateway.quiet()
  })

  test('half-closed is not closed: the other side still gets what was said before, and may answer', async () => {
    const origin = await startOrigin(undefined, 0, (request, socket) => {
      socket.on('error', () => {})
      socket.write(yes(request.headers['sec-websocket-key'] as string))
      socket.on('data', () => {})
      socket.on('end', () => setTimeout(() => socket.end('goodbye'), 300))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, handshake())
    await until(() => line.statuses[0] === 101)
    line.socket.end('that is all')
    await until(() => line.closed)
    expect(line.text.endsWith('goodbye')).toBe(true)
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('the server resets: the client is reset, too, and hears no end that looks like one', async () => {
    const origin = await startOrigin(undefined, 0, (request, socket) => {
      socket.on('error', () => {})
      socket.write(yes(request.headers['sec-websocket-key'] as string, [], frame('x')))
      setTimeout(() => socket.resetAndDestroy(), 200)
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, handshake())
    let error: NodeJS.ErrnoException | undefined
    line.socket.on('error', (told) => {
      error = told
    })
    await until(() => line.closed)
    expect(error?.code).toBe('ECONNRESET')
    await gateway.quiet()
  })

  test('C39: a signal says goodbye to both ends between two frames, and the gateway is gone when they are', async () => {
    let half = (): void => {}
    const heard: Buffer[] = []
    const origin = await startOrigin(undefined, 0, (request, socket, head) => {
      socket.on('error', () => {})
      socket.on('data', (bytes) => heard.push(bytes))
      if (request.url !== '/half') return echo(request, socket, head)
      const whole = frame('in the middle of a frame')
      socket.write(yes(request.headers['sec-websocket-key'] as string, [], whole.subarray(0, 9)))
      half = () => void socket.write(Buffer.concat([whole.subarray(9), frame('too late')]))
      socket.on('end', () => socket.end())
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, drain: '8s' } })
    const plain = new WebSocket(`ws://127.0.0.1:${gateway.port}/`)
    await once(plain, 'open')
    const line = await wire(gateway.port, handshake([], '/half'))
    await until(() => line.text.endsWith('in the '))
    const closed = once(plain, 'close') as Promise<[{ code: number }]>
    gateway.cli.kill('SIGTERM')
    expect((await closed)[0].code).toBe(1001)
    expect(line.closed).toBe(false)
    half()
    await until(() => framesOf(line).length === 2)
    const [message, goodbye] = framesOf(line)
    expect(message?.payload.toString()).toBe('in the middle of a frame')
    expect(goodbye).toMatchObject({ opcode: 8, masked: false })
    expect(goodbye?.payload.readUInt16BE(0)).toBe(1001)
    line.write(frame(Buffer.from([3, 0xe9]), { opcode: 8, mask }))
    expect((await gateway.cli.finished()).code).toBe(0)
    expect(framesIn(Buffer.concat(heard)).frames.some(({ opcode, masked }) => opcode === 8 && masked)).toBe(true)
  })

  test('C39: new ones are taken until the delay is over; then all are told goodbye, and who does not answer is cut', async () => {
    const origin = await startOrigin(undefined, 0, (request, socket) => {
      socket.on('error', () => {})
      socket.write(yes(request.headers['sec-websocket-key'] as string))
      socket.resume()
    })
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { ...config, drain: '30s', drainDelay: '3s' },
    })
    const line = await wire(gateway.port, handshake())
    await until(() => line.statuses[0] === 101)
    gateway.cli.kill('SIGTERM')
    // Within the delay a balancer still sends clients here: they are served, and told to go only when they would go elsewhere.
    await until(async () => (await gateway.admin('/readyz')).status === 503)
    const late = await wire(gateway.port, handshake())
    await until(() => late.statuses[0] === 101)
    const later = await wire(gateway.port)
    expect(framesOf(line)).toEqual([])
    await until(() => framesOf(line).length === 1 && framesOf(late).length === 1)
    later.write(handshake())
    await until(() => later.closed)
    expect(later.statuses).toEqual([503])
    const { code } = await gateway.cli.finished()
    expect(code).toBe(0)
    await until(() => line.closed)
  })
})

describe('which offers are heard', () => {
  const offer = (lines: readonly string[], first = 'GET / HTTP/1.1', body = ''): string =>
    `${[first, 'Host: x', ...lines].join('\r\n')}\r\n\r\n${body}`
  const ws = ['Connection: Upgrade', 'Upgrade: websocket']
  const key = `Sec-WebSocket-Key: ${KEY}`
  const version = 'Sec-WebSocket-Version: 13'

  test.each([
    ['no key', offer([...ws, version]), 400],
    ['a short key', offer([...ws, version, 'Sec-WebSocket-Key: abc']), 400],
    ['no version', offer([...ws, key]), 400],
    ['another method', offer([...ws, key, version], 'POST / HTTP/1.1'), 400],
    ['a body', offer([...ws, key, version, 'Content-Length: 2'], 'GET / HTTP/1.1', 'hi'), 400],
    ['another protocol', offer(['Connection: Upgrade', 'Upgrade: irc/6.9']), 501],
    ['TLS', offer(['Connection: Upgrade', 'Upgrade: TLS/1.2']), 501],
    ['a bad head', offer([...ws, key, version, 'Host: y']), 400],
    ['no route', offer([...ws, key, version], 'GET /none HTTP/1.1'), 404],
    ['a route without', offer([...ws, key, version], 'GET /plain HTTP/1.1'), 501],
  ])('%s: told so, and nothing reaches the server', async (_name, text, status) => {
    const origin = await startOrigin(undefined, 0, echo)
    const routes = [{ path: '/' }, { path: '/plain', upgrade: false }]
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, routes } })
    const line = await wire(gateway.port, text)
    await until(() => line.closed)
    expect(line.statuses).toEqual([status])
    expect(line.text).toContain('application/problem+json')
    expect(origin.sockets.size).toBe(0)
    await gateway.quiet()
  })

  test('a route may name others, and the first that it knows is taken', async () => {
    const origin = await startOrigin(undefined, 0, (request, socket) => {
      socket.on('error', () => {})
      socket.write(`HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n220 hello`)
      socket.pipe(socket)
    })
    const routes = [{ upgrade: ['smtp/2', 'irc/6.9'] }]
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, routes } })
    const line = await wire(gateway.port, offer(['Connection: upgrade', 'Upgrade: foo, IRC/6.9']))
    await until(() => line.text.endsWith('220 hello'))
    expect(line.text).toMatch(/upgrade: irc\/6\.9\r\n/i)
    line.write(' bytes')
    await until(() => line.text.endsWith('220 hello bytes'))
    line.socket.end()
    await until(() => line.closed)
    await gateway.quiet()
  })

  test.each([
    ['h2c, with its body and more requests behind it', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'], '1.1'],
    ['anything in HTTP/1.0', ['Connection: Upgrade, keep-alive', 'Upgrade: websocket'], '1.0'],
  ])('%s: ignored, as an offer may be', async (_name, lines, http) => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const settings = 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA'
    const first = offer([...lines, settings, 'X-Kept: \xe9', 'Content-Length: 5'], `POST /1 HTTP/${http}`, 'hello')
    // One behind it that offers nothing, and one later that offers again.
    const line = await wire(gateway.port, first + offer(['Connection: keep-alive'], `GET /2 HTTP/${http}`))
    await until(() => line.statuses.length === 2)
    line.write(offer(lines, `GET /3 HTTP/${http}`))
    await until(() => line.statuses.length === 3)
    expect(line.statuses).toEqual([200, 200, 200])
    expect(new Set(origin.seen.map(({ url }) => url))).toEqual(new Set(['/1', '/2', '/3']))
    const posted = origin.seen.find(({ url }) => url === '/1')
    expect(posted).toMatchObject({ method: 'POST', body: 'hello' })
    expect(posted?.headers).toMatchObject({ 'x-kept': '\xe9' })
    for (const { headers } of origin.seen) expect(headers).not.toHaveProperty('upgrade')
    line.socket.destroy()
    await gateway.quiet()
    expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('an offer behind a request that is not answered yet: nobody could tell what is whose, so that it is told no behind the answer', async () => {
    let release = (): void => {}
    const slow = (_request: unknown, response: { end(text: string): void }): void => {
      release = () => response.end('slow')
    }
    const origin = await startOrigin(slow, 0, echo)
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, endpoint: [] } })
    const line = await wire(gateway.port, offer([], 'GET /slow HTTP/1.1') + handshake())
    await until(() => origin.seen.length === 1)
    release()
    await until(() => line.closed)
    expect(line.statuses).toEqual([200, 501])
    expect(origin.seen).toHaveLength(1)
    await gateway.quiet()
  })
})
