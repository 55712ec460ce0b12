import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Intake, MOST_UNDER_WAY } from '../../src/gateway/listener/intake.ts'
import { later } from '../support/cleanup.ts'
import { startGateway } from '../support/gateway.ts'
import { wire } from '../support/http.ts'
import { startOrigin } from '../support/origin.ts'
import { until } from '../support/until.ts'

// Clients that do not wait for answers.

const config = { layers: [], endpoint: [] }
const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'

test('a connection has so many requests under way and no more, and all are answered in the end', async () => {
  const waiting: (() => void)[] = []
  const origin = await startOrigin((_request, response) => void waiting.push(() => response.end('x')))
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { connections: 1000 } } })
  const line = await wire(gateway.port)
  // What is left of a packet when the reading stops is parsed to its end: a packet of 64 KiB holds eight of these.
  const all = 3 * MOST_UNDER_WAY
  const large = `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(8000)}\r\n\r\n`
  line.write(large.repeat(all))
  await until(async () => (await gateway.inspect()).gateway.inFlight >= MOST_UNDER_WAY)
  await pause(200)
  expect((await gateway.inspect()).gateway.inFlight).toBeLessThan(MOST_UNDER_WAY + 10)
  await until(() => {
    for (const answer of waiting.splice(0)) answer()
    return line.statuses.length === all
  })
  line.socket.destroy()
  await gateway.quiet()
})

test('a hundred thousand at once are not a hundred thousand in flight', async () => {
  const origin = await startOrigin(() => {})
  const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, limits: { connections: 100 } } })
  const line = await wire(gateway.port)
  line.write(get.repeat(100_000))
  await until(async () => (await gateway.inspect()).gateway.inFlight >= MOST_UNDER_WAY)
  await pause(100)
  // One packet at most is parsed to its end: 64 KiB.
  expect((await gateway.inspect()).gateway.inFlight).toBeLessThan(MOST_UNDER_WAY + 65_536 / get.length + 1)
  line.socket.destroy()
  await gateway.quiet()
})

test('five hundred at once, some refused in the middle of the packet: each has its answer, and no interim one between them', async () => {
  const origin = await startOrigin()
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { layers: [{ kind: 'bulkhead', slots: MOST_UNDER_WAY }], endpoint: [] },
  })
  for (let round = 0; round < 5; round++) {
    const line = await wire(gateway.port)
    for (let i = 0; i < 500; i++) line.write(get)
    // Interim answers are counted, too: where there is one, this is never true.
    await until(() => line.statuses.length === 500)
    line.socket.destroy()
  }
  await gateway.quiet()
})

test('answers behind a slow one, written one by one, do not let in more than there may be', async () => {
  let answers = 0
  const origin = await startOrigin((request, response) => {
    if (request.url !== '/slow' && answers++ < 60) setTimeout(() => response.end('x'), answers * 10)
  })
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { ...config, limits: { connections: 70, connect: '10s' } },
  })
  const line = await wire(gateway.port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => origin.seen.length === 1)
  // node:http reads on whenever an answer is written: each of the sixty would let in another packet.
  for (let i = 0; i < 100; i++) {
    line.write(get.repeat(1000))
    await pause(5)
  }
  const { requests, inFlight } = (await gateway.inspect()).gateway
  const heard = Object.values(requests).reduce((sum, count) => sum + count, inFlight)
  expect(heard).toBeLessThan(MOST_UNDER_WAY + 65_536 / get.length + 2)
  line.socket.destroy()
  await gateway.quiet()
})

test('who is not read hears a sign of life, and not before a second has passed', async () => {
  const [ours, theirs] = await pair()
  const intake = new Intake(ours)
  for (let i = 0; i < MOST_UNDER_WAY; i++) intake.begun()
  expect(intake.hasRested()).toBe(false)
  expect(intake.hasRested()).toBe(true)
  for (let i = 0; i < MOST_UNDER_WAY; i++) intake.ended()
  expect(intake.hasRested()).toBe(false)
  for (let i = 0; i < MOST_UNDER_WAY; i++) intake.begun()
  // It was read in between, whatever it looks like now.
  expect(intake.hasRested()).toBe(false)
  theirs.destroy()
})

/** Two ends of a connection. */
async function pair(): Promise<[ours: Socket, theirs: Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  later(() => void server.close())
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const theirs = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [ours] = await accepted
  later(() => void ours.destroy())
  return [ours, theirs]
}

test.each([
  ['said that it was his last', `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`],
  ['was refused and told so', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n'],
])('who goes on sending after a request that %s is not read', async (_how, last) => {
  const origin = await startOrigin(() => {})
  const gateway = await startGateway({ upstreams: [origin.port], config })
  const line = await wire(gateway.port, `${get}${last}`)
  await until(() => origin.seen.length > 0)
  const sent = get.repeat(1_000_000)
  line.write(sent)
  await pause(500)
  // Buffers of the kernel take some megabytes; the rest stays with its sender, and none of it reaches the server.
  expect(line.closed || line.socket.writableLength > sent.length / 2).toBe(true)
  expect(origin.seen.length).toBeLessThanOrEqual(2)
  line.socket.destroy()
  await gateway.quiet()
})

test.each([
  ['the server breaks off', (response: ServerResponse) => void response.destroy()],
  ['the client’s own body is none', null],
])(
  'an answer that breaks while its turn has not come (%s): those before it are whole, and then it is the end',
  async (_how, breakOff) => {
    const waiting: (() => void)[] = []
    const broken: ServerResponse[] = []
    const large = 'a'.repeat(3_000_000)
    const origin = await startOrigin((request, response) => {
      if (request.url === '/a') return void waiting.push(() => response.end(large))
      response.writeHead(200, { 'content-length': 1000 }).write('half of it')
      broken.push(response)
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: { ...config, routes: [{ replay: 0 }] } })
    const b =
      breakOff === null
        ? 'POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n'
        : 'GET /b HTTP/1.1\r\nHost: x\r\n\r\n'
    const line = await wire(gateway.port, `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx${b}`)
    await until(async () => waiting.length === 1 && broken.length === 1)
    if (breakOff === null) line.write('no chunk\r\n')
    else breakOff(broken[0] as ServerResponse)
    await until(async () => (await gateway.inspect()).upstreams[0]?.active === 1)
    expect(line.closed).toBe(false)
    waiting[0]?.()
    await until(() => line.closed)
    expect(line.text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(line.text.endsWith(large)).toBe(true)
    expect(line.statuses).toEqual([200])
    await gateway.quiet()
  },
)
