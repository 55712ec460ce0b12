import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import { type Wire, wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'
import { handshake } from '../support/websocket.ts'

// What comes behind answers that are not written yet, and has no place behind them.

const config = { layers: [], endpoint: [] }
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const connect = 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'
/** Refused by the gateway itself, on a connection that goes on. */
const refused = 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'
const garbage = 'no request at all\r\n\r\n'

/** Statuses and bodies, in order. */
const heard = (line: Wire): string[] =>
  line.text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .map((one) => `${one.slice(9, 12)} ${one.slice(one.indexOf('\r\n\r\n') + 4).slice(0, 8)}`)

describe('a tunnel to anywhere is asked for', () => {
  test('and the client is gone before it hears no: the gateway lives', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    for (let i = 0; i < 100; i++) {
      const line = await wire(gateway.port, connect)
      line.socket.resetAndDestroy()
    }
    const line = await wire(gateway.port, connect)
    await until(() => line.closed)
    expect(line.statuses).toEqual([405])
    await gateway.quiet()
    expect(gateway.cli.stderr).toBe('')
  })

  test('behind a request that is not answered yet: its answer comes first, and the no behind it', async () => {
    let release = (): void => {}
    const origin = await startOrigin((_request, response) => {
      release = () => response.end('late')
    })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, get('/'))
    await until(() => origin.seen.length === 1)
    line.write(connect)
    await pause(200)
    expect({ text: line.text, closed: line.closed }).toEqual({ text: '', closed: false })
    release()
    await until(() => line.closed)
    expect(heard(line)).toEqual(['200 late', expect.stringMatching(/^405 /)])
    await gateway.quiet()
    expect(gateway.cli.stderr).toBe('')
  })

  test('behind a request that is not answered yet, and the client leaves: the server hears of it', async () => {
    const origin = await startOrigin(() => {})
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, get('/') + connect)
    await until(() => origin.seen.length === 1)
    line.socket.resetAndDestroy()
    await until(() => origin.sockets.size === 0)
    await gateway.quiet()
  })

  test('behind large answers to a slow client: they arrive whole', async () => {
    const body = 'x'.repeat(3_000_000)
    const origin = await startOrigin((_request, response) => response.end(body))
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port)
    line.socket.pause()
    line.write(get('/').repeat(3) + connect)
    await until(() => origin.seen.length === 3)
    await pause(200)
    line.socket.resume()
    await until(() => line.closed)
    expect(line.statuses).toEqual([200, 200, 200, 405])
    expect(line.text.length).toBeGreaterThan(3 * body.length)
    await gateway.quiet()
  })
})

describe('behind an answer of the gateway, in the same packet', () => {
  test.each([
    ['an offer of another protocol', handshake(), 501],
    ['CONNECT', connect, 405],
  ])('%s: the answer arrives, then the no', async (_name, text, status) => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, refused + text)
    await until(() => line.closed)
    expect(line.statuses).toEqual([501, status])
    expect(origin.seen).toHaveLength(0)
    await gateway.quiet()
    expect(gateway.cli.stderr).toBe('')
  })

  test.each([
    ['an offer of another protocol', handshake()],
    ['CONNECT', connect],
  ])('%s behind the last request: the answer arrives, and nothing else', async (_name, text) => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n${text}`)
    await until(() => line.closed)
    expect(heard(line)).toEqual(['200 ok'])
    await gateway.quiet()
    expect(gateway.cli.stderr).toBe('')
  })

  test('garbage: each request has its own answer, and then comes what there is to say about that', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const line = await wire(gateway.port, refused.repeat(3) + garbage)
    await until(() => line.closed)
    expect(line.statuses).toEqual([501, 501, 501, 400])
    await gateway.quiet()
  })
})

test('garbage behind answers that a slow client has not taken yet: they come first, and whole', async () => {
  const body = 'x'.repeat(60_000)
  const origin = await startOrigin((_request, response) => response.end(body))
  const gateway = await startGateway({ upstreams: [origin.port], config })
  const line = await wire(gateway.port)
  line.socket.pause()
  // More than the buffers of the system hold, so that some are still with the gateway.
  const count = 90
  line.write(get('/').repeat(count))
  await until(async () => {
    const { gateway: facts } = await gateway.inspect()
    return facts.requests['2xx'] === count && facts.inFlight === 0
  })
  line.write(garbage)
  await pause(100)
  line.socket.resume()
  await until(() => line.closed)
  expect(line.statuses).toEqual([...Array.from({ length: count }, () => 200), 400])
  expect(line.text.length).toBeGreaterThan(count * body.length)
  await gateway.quiet()
})

test('a head that does not end, behind a request that is not answered yet: its answer comes, then the 408', async () => {
  let release = (): void => {}
  const origin = await startOrigin((_request, response) => {
    release = () => response.end('late')
  })
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { head: '500ms' } } })
  const line = await wire(gateway.port, `${get('/')}GET /next HT`)
  // Heads are looked at every two seconds.
  await pause(4000)
  expect(line.closed).toBe(false)
  release()
  await until(() => line.closed)
  expect(heard(line).filter((one) => !one.startsWith('100'))).toEqual(['200 late', expect.stringMatching(/^408 /)])
  await gateway.quiet()
})

test('a request that is refused by its head while the rest of it comes: its client is read until it has heard why', async () => {
  const origin = await startOrigin()
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { body: 10 } } })
  const line = await wire(gateway.port, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n')
  await until(() => line.statuses.length === 1)
  line.write('x'.repeat(200_000))
  await pause(100)
  expect({ statuses: line.statuses, closed: line.closed }).toEqual({ statuses: [413], closed: false })
  line.write('x'.repeat(100_000))
  await until(() => line.closed)
  expect(heard(line)).toEqual([expect.stringMatching(/^413 /)])
  expect(origin.seen).toHaveLength(0)
  await gateway.quiet()
})

test('an answer before the end of its request, behind one that is still due: both arrive', async () => {
  let release = (): void => {}
  const origin = await startOrigin((request, response) => {
    if (request.url === '/slow') release = () => response.end('slow')
    else response.end('early')
  })
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { ...config, routes: [{ replay: 0 }] },
  })
  const line = await wire(
    gateway.port,
    `${get('/slow')}POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf`,
  )
  await until(() => origin.seen.length === 2)
  // Longer than the gateway reads on for the rest of the second one.
  await pause(1500)
  release()
  await until(() => line.closed)
  expect(heard(line)).toEqual(['200 slow', '200 early'])
  await gateway.quiet()
})
