import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { deadPort, type Origin, startOrigin, startTcp } from './support/origin.ts'
import { until } from './support/until.ts'

// The picker that says who comes first, and a pause that nobody notices.
const config = {
  balance: { picker: 'roundRobin' },
  layers: [
    { kind: 'retry', attempts: 3, backoff: { first: '1ms', atMost: '2ms' }, budget: { ratio: 1, minimum: 100 } },
  ],
  endpoint: [{ kind: 'timeout', after: '2s' }],
}

/** Answers `status` to everything. */
function always(status: number, lines: Record<string, string> = {}, body = `I said ${status}`): Promise<Origin> {
  return startOrigin((request, response) => {
    request.resume()
    request.on('end', () => {
      response.writeHead(status, lines)
      response.end(body)
    })
  })
}

/** Takes each request, then resets. */
function resetting(): Promise<Origin> {
  return startTcp((socket) => void socket.once('data', () => socket.resetAndDestroy()))
}

const tries = 6

/** `tries` requests, so that each upstream is asked first by some. */
async function statuses(port: number, method: string, body?: string): Promise<number[]> {
  const all: number[] = []
  for (let i = 0; i < tries; i++)
    all.push((await ask(port, { method, ...(body === undefined ? {} : { body }) })).status)
  return all
}

// C23: what must not be sent twice.
describe('C23: what is sent again', () => {
  test.each(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])(
    '%s goes to the other upstream after a 503',
    async (method) => {
      const bad = await always(503, { 'x-first': '1' })
      const good = await startOrigin()
      const gateway = await startGateway({ upstreams: [bad.port, good.port], config })
      const answers = []
      for (let i = 0; i < tries; i++) answers.push(await ask(gateway.port, { method }))
      expect(answers.map(({ status }) => status)).toEqual(Array(tries).fill(200))
      // Nothing of the answer that lost.
      for (const { headers } of answers) expect(headers).not.toHaveProperty('x-first')
      expect(bad.seen.length).toBeGreaterThan(0)
      await gateway.quiet()
    },
  )

  test('GET goes to the other upstream after a reset', async () => {
    const [bad, good] = [await resetting(), await startOrigin()]
    const gateway = await startGateway({ upstreams: [bad.port, good.port], config })
    expect(await statuses(gateway.port, 'GET')).toEqual(Array(tries).fill(200))
    expect((await gateway.quiet()).upstreams[0]?.failures['reset']).toBeGreaterThan(0)
  })

  test.each([
    ['a 503', () => always(503), 503],
    ['a reset', resetting, 502],
  ])('POST is not sent again after %s', async (_name, start, status) => {
    const [bad, good] = [await start(), await startOrigin()]
    const gateway = await startGateway({ upstreams: [bad.port, good.port], config })
    const seen = await statuses(gateway.port, 'POST', 'pay once')
    expect(new Set(seen)).toEqual(new Set([200, status]))
    expect(seen.filter((code) => code === 200)).toHaveLength(good.seen.length)
    for (const { body } of good.seen) expect(body).toBe('pay once')
    await gateway.quiet()
  })

  test.each(['POST', 'PATCH', 'PUT'])(
    '%s goes elsewhere with its whole body when the connection is refused',
    async (method) => {
      const good = await startOrigin()
      const gateway = await startGateway({ upstreams: [await deadPort(), good.port], config })
      expect(await statuses(gateway.port, method, 'whole body')).toEqual(Array(tries).fill(200))
      expect(good.seen.map(({ body }) => body)).toEqual(Array(tries).fill('whole body'))
      expect((await gateway.quiet()).upstreams[0]?.failures['refused']).toBeGreaterThan(0)
    },
  )

  test.each([400, 404, 501, 505])('%i is an answer, not a failure', async (status) => {
    const origin = await always(status)
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect((await ask(gateway.port)).status).toBe(status)
    expect(origin.seen).toHaveLength(1)
    expect((await gateway.quiet()).pipeline.calls).toMatchObject({ success: 1, failure: 0 })
  })

  test('429 and 503 with Retry-After are overload, and the wish is respected', async () => {
    for (const status of [429, 503]) {
      const origin = await always(status, { 'retry-after': '120' })
      const gateway = await startGateway({ upstreams: [origin.port], config })
      const answer = await ask(gateway.port)
      expect(answer).toMatchObject({ status, headers: { 'retry-after': '120' }, body: `I said ${status}` })
      // Longer than the retry waits for: so it was not asked again.
      expect(origin.seen).toHaveLength(1)
      expect((await gateway.quiet()).pipeline.calls).toMatchObject({ overload: 1 })
    }
  })

  test('when every try fails the last answer passes whole, however long it is', async () => {
    const long = 'x'.repeat(300_000)
    const bad = [await always(500, {}, long), await always(500, {}, long)]
    const gateway = await startGateway({ upstreams: bad.map(({ port }) => port), config })
    const answer = await ask(gateway.port)
    expect(answer).toMatchObject({ status: 500, bytes: long.length })
    for (const { seen } of bad) expect(seen.length).toBeGreaterThan(0)
    await gateway.quiet()
  })

  test('a long answer that lost is cut, its connection with it', async () => {
    const bad = await startOrigin((_request, response) => {
      response.writeHead(500)
      // Never ends by itself.
      const timer = setInterval(() => response.write('x'.repeat(65_536)), 5)
      response.on('close', () => clearInterval(timer))
    })
    const good = await startOrigin()
    const gateway = await startGateway({ upstreams: [bad.port, good.port], config })
    expect(await statuses(gateway.port, 'GET')).toEqual(Array(tries).fill(200))
    expect(bad.seen.length).toBeGreaterThan(0)
    await gateway.quiet()
    await until(() => bad.sockets.size === 0)
  })

  test('after a byte has been passed on nothing is tried again', async () => {
    const bad = await startTcp((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello')
        setTimeout(() => socket.resetAndDestroy(), 50)
      })
    })
    const gateway = await startGateway({ upstreams: [bad.port], config })
    await expect(ask(gateway.port)).rejects.toThrow()
    const seen = await gateway.quiet()
    expect(seen.upstreams[0]).toMatchObject({ attempts: 1, failures: { reset: 1 } })
  })
})
