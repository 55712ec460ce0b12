import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as send } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { reload, start, write } from './support/reload.ts'
import { until } from './support/until.ts'
import { frame, handshake, mirror } from './support/websocket.ts'

// A real server, a real client, and rates at which a body takes some hundred milliseconds. Times have a lower bound only: a machine with much to do is late,
// and never early. Shares are measured in bytes, and not in time.

const KB = 1000
/** Letters, so that it is a text, too. */
const sent = Buffer.from(randomBytes(150 * KB).toString('hex'))
const digest = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')

/** What 300 kB take at least, at 1 MB/s with a burst of 40 kB: 260 ms, less what a timer may be early. */
const AT_LEAST_MS = 255
const rate = { rate: '1MB/s', burst: '40kB' }

/** Answers with as many of the bytes as the path says, and with the digest of what it got. */
async function serve(): Promise<Origin> {
  return startOrigin((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const bytes = Number(/\d+/.exec(request.url as string)?.[0] ?? 0)
      response.setHeader('x-got', digest(Buffer.concat(pieces)))
      response.end(sent.subarray(0, bytes))
    })
  })
}

function routed(bandwidth: object, more: object = {}): object {
  return { layers: [], endpoint: [], routes: [{ id: 'web', bandwidth, ...more }] }
}

interface Passed {
  readonly waiting: number
  readonly streams: number
  readonly passed: number
  readonly heldBack: number
  readonly perSecond: number
}

async function bandwidthOf(gateway: Gateway, direction: 'up' | 'down'): Promise<Passed> {
  const { pipeline } = await gateway.inspect()
  const { layers } = pipeline as unknown as { layers: Record<string, unknown>[] }
  return layers.find(({ kind }) => kind === 'bandwidth')?.[direction] as Passed
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [answer: T, tookMs: number]> {
  const since = performance.now()
  return [await work(), performance.now() - since]
}

/** A download that counts what has come. */
class Download {
  bytes = 0
  broken = false
  readonly request: ClientRequest
  readonly ended: Promise<unknown>

  constructor({ port }: Gateway, bytes: number, headers: Record<string, string> = {}) {
    this.request = send({ host: '127.0.0.1', port, path: `/${bytes}`, headers, agent: false })
    this.request.on('error', () => {})
    this.request.end()
    this.ended = this.run()
  }

  private async run(): Promise<void> {
    const [response] = (await once(this.request, 'response')) as [IncomingMessage]
    response.on('data', (piece: Buffer) => {
      this.bytes += piece.length
    })
    response.on('error', () => {
      this.broken = true
    })
    await new Promise((resolve) => response.on('close', resolve))
  }
}

describe('down', () => {
  test('a large answer passes whole, and no faster than its rate', async () => {
    const origin = await serve()
    const gateway = await startGateway({ upstreams: [origin.port], config: routed({ down: rate }) })
    const [answer, tookMs] = await timed(() => ask(gateway.port, { path: '/300000' }))
    expect(answer.bytes).toBe(300 * KB)
    expect(digest(answer.body)).toBe(digest(sent))
    expect(tookMs).toBeGreaterThan(AT_LEAST_MS)
    await gateway.quiet()
    expect(await bandwidthOf(gateway, 'down')).toMatchObject({ streams: 0, waiting: 0, passed: 300 * KB })
    expect((await bandwidthOf(gateway, 'down')).heldBack).toBeGreaterThan(200 * KB)
    expect(await bandwidthOf(gateway, 'up')).toBeNull()
  })

  test('many small answers are no way around it', async () => {
    const origin = await serve()
    const gateway = await startGateway({ upstreams: [origin.port], config: routed({ down: rate }) })
    const [answers, tookMs] = await timed(() =>
      Promise.all([...new Array(30)].map(() => ask(gateway.port, { path: '/10000' }))),
    )
    for (const { body } of answers) expect(digest(body)).toBe(digest(sent.subarray(0, 10 * KB)))
    expect(tookMs).toBeGreaterThan(AT_LEAST_MS)
    await gateway.quiet()
  })

  test('what the gateway says itself, and heads, cost nothing', async () => {
    const origin = await serve()
    const config = routed({ down: { rate: 1, burst: 1 } }, { path: '/{n}' })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect(await ask(gateway.port, { method: 'HEAD', path: '/300000' })).toMatchObject({ status: 200, bytes: 0 })
    expect((await ask(gateway.port, { path: '/no/route' })).status).toBe(404)
    expect(await bandwidthOf(gateway, 'down')).toMatchObject({ passed: 0 })
    await gateway.quiet()
  })

  test('two share it in bytes: who comes later has half of it, and not what is left', async () => {
    const origin = await serve()
    const gateway = await startGateway({ upstreams: [origin.port], config: routed({ down: rate }) })
    const first = new Download(gateway, 300 * KB)
    await until(() => first.bytes > 60 * KB)
    const before = first.bytes
    const second = new Download(gateway, 80 * KB)
    await second.ended
    expect(second.bytes).toBe(80 * KB)
    expect(first.bytes - before).toBeGreaterThan(40 * KB)
    expect(first.bytes - before).toBeLessThan(160 * KB)
    await first.ended
    expect(first.bytes).toBe(300 * KB)
    await gateway.quiet()
  })

  test('each caller has his own, and so has each connection', async () => {
    const origin = await serve()
    const down = { perCaller: rate, perConnection: { rate: '10MB/s' } }
    const config = routed({ down }, { key: { header: 'x-user' } })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const slow = new Download(gateway, 300 * KB, { 'x-user': 'ann' })
    await until(() => slow.bytes >= 40 * KB)
    const other = new Download(gateway, 40 * KB, { 'x-user': 'ben' })
    await other.ended
    // He had his burst, whatever she had used.
    expect(slow.bytes).toBeLessThan(300 * KB)
    expect(other.bytes).toBe(40 * KB)
    await slow.ended
    await gateway.quiet()
  })
})

describe('up', () => {
  test('a large body passes whole at its rate, and no time runs out over it', async () => {
    const origin = await serve()
    const up = { perConnection: { rate: '150kB/s', burst: '40kB' } }
    const times = { layers: [{ kind: 'deadline', within: '1s' }], limits: { request: '500ms' } }
    const config = { ...routed({ up }, times), endpoint: [{ kind: 'timeout', after: '1s' }] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const ways = [
      { 'content-length': 300 * KB },
      { 'transfer-encoding': 'chunked' },
      { 'content-length': 300 * KB, expect: '100-continue' },
    ]
    const all = await Promise.all(
      ways.map((headers) => timed(() => ask(gateway.port, { method: 'POST', path: '/1', headers, body: sent }))),
    )
    for (const [answer, tookMs] of all) {
      expect(answer).toMatchObject({ status: 200, headers: { 'x-got': digest(sent) } })
      // 1733 ms.
      expect(tookMs).toBeGreaterThan(1700)
    }
    await gateway.quiet()
    expect(await bandwidthOf(gateway, 'up')).toMatchObject({ streams: 0, passed: 900 * KB })
  })

  test('nor over one that has come whole, and waits in the gateway', async () => {
    const origin = await serve()
    const times = { layers: [{ kind: 'deadline', within: '800ms' }], replay: 1000 }
    const config = {
      ...routed({ up: { rate: '10kB/s', burst: '16KiB' } }, times),
      endpoint: [{ kind: 'timeout', after: '800ms' }],
    }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const body = sent.subarray(0, 30 * KB)
    const [answer, tookMs] = await timed(() => ask(gateway.port, { method: 'POST', path: '/1', body }))
    expect(answer).toMatchObject({ status: 200, headers: { 'x-got': digest(body) } })
    // 1361 ms, in one wait.
    expect(tookMs).toBeGreaterThan(1340)
    await gateway.quiet()
  })

  test('many small bodies are no way around it', async () => {
    const origin = await serve()
    const gateway = await startGateway({ upstreams: [origin.port], config: routed({ up: rate }) })
    const body = sent.subarray(0, 10 * KB)
    const [answers, tookMs] = await timed(() =>
      Promise.all([...new Array(30)].map(() => ask(gateway.port, { method: 'PUT', path: '/1', body }))),
    )
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, headers: { 'x-got': digest(body) } })
    expect(tookMs).toBeGreaterThan(AT_LEAST_MS)
    await gateway.quiet()
  })
})

describe('ends', () => {
  test('who leaves half-way gives back his place, and the others go on', async () => {
    const origin = await serve()
    const config = routed({ down: { ...rate, perCaller: '400kB/s' } }, { key: 'address' })
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const [gone, stays] = [new Download(gateway, 300 * KB), new Download(gateway, 100 * KB)]
    await until(() => gone.bytes > 30 * KB)
    gone.request.destroy()
    await until(async () => (await bandwidthOf(gateway, 'down')).streams === 1)
    await stays.ended
    expect(stays.bytes).toBe(100 * KB)
    await gateway.quiet()
  })

  test('a server that breaks off half-way is not taken for one that has said all', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(200, { 'content-length': 300 * KB })
      response.write(sent.subarray(0, 200 * KB), () => setTimeout(() => response.destroy(), 20))
    })
    const gateway = await startGateway({ upstreams: [origin.port], config: routed({ down: rate }) })
    const half = new Download(gateway, 300 * KB)
    await half.ended
    expect(half.broken).toBe(true)
    expect(half.bytes).toBeLessThan(300 * KB)
    await gateway.quiet()
  })

  test('who leaves during an upload that is held back leaves nothing', async () => {
    const origin = await serve()
    const gateway = await startGateway({ upstreams: [origin.port], config: routed({ up: '100kB/s' }) })
    const line = await wire(gateway.port, `POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: ${300 * KB}\r\n\r\n`)
    line.write(sent.subarray(0, 150 * KB))
    await until(async () => (await bandwidthOf(gateway, 'up')).waiting === 1)
    line.socket.destroy()
    // It is heard behind what his connection has brought.
    await gateway.quiet()
    expect(origin.sockets.size).toBe(0)
    expect(await bandwidthOf(gateway, 'up')).toMatchObject({ streams: 0, waiting: 0 })
  })
})

describe('a reload', () => {
  test('another rate holds for what is on its way, and what has passed is not forgotten', async () => {
    const origin = await serve()
    const gateway = await start(origin.port, routed({ down: '10kB/s' }))
    const download = new Download(gateway, 300 * KB)
    await until(async () => (await bandwidthOf(gateway, 'down')).waiting === 1)
    write(gateway, origin.port, routed({ down: '50MB/s' }))
    await reload(gateway)
    // It would take half a minute.
    await download.ended
    expect(download.bytes).toBe(300 * KB)
    expect(await bandwidthOf(gateway, 'down')).toMatchObject({ passed: 300 * KB, perSecond: 50e6 })
  })

  test('where nothing has changed, nothing does', async () => {
    const origin = await serve()
    const gateway = await start(origin.port, routed({ down: rate }))
    const [download, tookMs] = await timed(async () => {
      const began = new Download(gateway, 300 * KB)
      await until(() => began.bytes >= 40 * KB)
      write(gateway, origin.port, routed({ down: rate }, { request: { set: { 'x-new': 'yes' } } }))
      await reload(gateway)
      await began.ended
      return began
    })
    expect(download.bytes).toBe(300 * KB)
    // No second burst.
    expect(tookMs).toBeGreaterThan(AT_LEAST_MS)
  })

  test('a route that has no limit any more lets those who began end as they began', async () => {
    const origin = await serve()
    const gateway = await start(origin.port, routed({ down: rate }))
    const began = new Download(gateway, 150 * KB)
    await until(() => began.bytes >= 40 * KB)
    write(gateway, origin.port, { layers: [], endpoint: [], routes: [{ id: 'web' }] })
    await reload(gateway)
    expect((await ask(gateway.port, { path: '/300000' })).bytes).toBe(300 * KB)
    await began.ended
    expect(began.bytes).toBe(150 * KB)
    await gateway.quiet()
  })
})

test('what passes on an upgraded connection keeps to it', async () => {
  const origin = await startOrigin(undefined, 0, mirror)
  const config = routed({ down: { rate: '500kB/s', burst: '10kB' } })
  const gateway = await startGateway({ upstreams: [origin.port], config })
  const line = await wire(gateway.port, handshake())
  await until(() => line.text.includes('101 Switching Protocols'))
  const since = performance.now()
  const frames = Buffer.concat([...new Array(30)].map((_, i) => frame(sent.subarray(0, 10 * KB - i))))
  line.write(frames)
  await until(() => line.text.length > frames.length)
  // All but the burst, which a late timer makes 16 KiB and what 100 ms are worth.
  expect(performance.now() - since).toBeGreaterThan(((frames.length - 10 * KB - 16_384 - 50 * KB) / 500) * 0.95)
  line.socket.destroy()
  await gateway.quiet()
  expect(await bandwidthOf(gateway, 'down')).toMatchObject({ streams: 0, waiting: 0 })
})
