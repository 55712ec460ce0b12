import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// What callers say about their time and rank, and what servers hear of it.

const trust = ['127.0.0.0/8']
const loose = { layers: [{ kind: 'deadline', within: '10s' }], endpoint: [] }

describe('time', () => {
  test('what a trusted caller still has is the time of the request, and the server hears what is left', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...loose } })
    await ask(gateway.port, { headers: { 'X-Floodwall-Timeout-Ms': '700', 'X-Floodwall-Criticality': 'SHEDDABLE' } })
    await ask(gateway.port, { headers: { 'grpc-timeout': '2S', 'connect-timeout-ms': '900' } })
    await ask(gateway.port)
    const [first, second, third] = origin.seen.map(({ headers }) => headers)
    const left = (value: unknown): number => Number(value)
    expect(left(first?.['x-floodwall-timeout-ms'])).toBeGreaterThan(100)
    expect(left(first?.['x-floodwall-timeout-ms'])).toBeLessThanOrEqual(695)
    expect(first?.['x-floodwall-criticality']).toBe('SHEDDABLE')
    // The shortest counts, and those who know only their own name hear it, too.
    expect(left(second?.['x-floodwall-timeout-ms'])).toBeLessThanOrEqual(895)
    expect(second?.['connect-timeout-ms']).toBe(second?.['x-floodwall-timeout-ms'])
    expect(second?.['grpc-timeout']).toMatch(/^\d{1,8}[mun]$/)
    // Without a word of the caller it is the route's own deadline.
    expect(left(third?.['x-floodwall-timeout-ms'])).toBeGreaterThan(5000)
    expect(left(third?.['x-floodwall-timeout-ms'])).toBeLessThanOrEqual(9995)
  })

  test('a stranger is not believed, and what he says goes no further', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: loose })
    const said = {
      'X-Floodwall-Timeout-Ms': '0',
      'X-Floodwall-Criticality': 'CRITICAL_PLUS',
      'X-Floodwall-Attempt': '7',
      'grpc-timeout': '1n',
    }
    expect((await ask(gateway.port, { headers: said })).status).toBe(200)
    const headers = origin.seen[0]?.headers
    expect(Number(headers?.['x-floodwall-timeout-ms'])).toBeGreaterThan(5000)
    expect(headers).not.toHaveProperty('x-floodwall-criticality')
    expect(headers).not.toHaveProperty('x-floodwall-attempt')
    expect(headers).not.toHaveProperty('grpc-timeout')
  })

  test('it runs from the head on: who does not send his body in it is told so, and no server is asked', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...loose } })
    const line = await wire(
      gateway.port,
      'POST / HTTP/1.1\r\nHost: x\r\nX-Floodwall-Timeout-Ms: 300\r\nContent-Length: 10\r\n\r\nhalf',
    )
    await until(() => line.closed)
    expect(line.statuses).toEqual([504])
    expect(line.text).toContain('"code":"deadline"')
    expect(origin.seen).toEqual([])
    await gateway.quiet()
  })

  test('no time left: answered at once, and the server is not asked', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...loose } })
    for (const headers of [{ 'X-Floodwall-Timeout-Ms': '0' }, { 'grpc-timeout': '0m' }]) {
      const answer = await ask(gateway.port, { headers })
      expect(answer.status).toBe(504)
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'deadline' })
    }
    expect(origin.seen).toHaveLength(0)
    await gateway.quiet()
  })

  test.each(['5', '4', '1'])('C18 %s ms left: nothing is left when the way back is taken off', async (left) => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...loose } })
    const { status, body } = await ask(gateway.port, { headers: { 'X-Floodwall-Timeout-Ms': left } })
    expect(status).toBe(504)
    expect(JSON.parse(body)).toMatchObject({ code: 'deadline' })
    expect(origin.seen).toHaveLength(0)
    expect((await gateway.quiet()).upstreams[0]?.attempts).toBe(0)
  })

  test('C18 the client took its time over the body: what is then too late is not sent on', async () => {
    const origin = await startOrigin()
    const config = { trust, layers: [], endpoint: [] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    const lines = ['Host: a', 'Expect: 100-continue', 'X-Floodwall-Timeout-Ms: 100', 'Content-Length: 2']
    const line = await wire(gateway.port, `POST / HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
    await until(() => line.statuses.includes(100))
    await new Promise((resolve) => setTimeout(resolve, 150))
    line.write('xy')
    await until(() => line.closed)
    expect(line.statuses).toEqual([100, 504])
    expect(origin.seen).toHaveLength(0)
    await gateway.quiet()
  })

  test('the time of the caller ends a request that hangs', async () => {
    const origin = await startOrigin(() => {})
    const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...loose } })
    const answer = await ask(gateway.port, { headers: { 'X-Floodwall-Timeout-Ms': '150' } })
    expect(answer.status).toBe(504)
    await gateway.quiet()
  })

  test.each(['soon', '-1', '1e3', '9'.repeat(30), ''])(
    '%j is no time: the default counts, and never none',
    async (value) => {
      const origin = await startOrigin()
      const gateway = await startGateway({ upstreams: [origin.port], config: { trust, ...loose } })
      expect((await ask(gateway.port, { headers: { 'X-Floodwall-Timeout-Ms': value } })).status).toBe(200)
      expect(Number(origin.seen[0]?.headers['x-floodwall-timeout-ms'])).toBeLessThanOrEqual(9995)
    },
  )

  test('propagate: false tells the server nothing', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { trust, ...loose, routes: [{ propagate: false }] },
    })
    await ask(gateway.port, { headers: { 'X-Floodwall-Timeout-Ms': '700' } })
    expect(origin.seen[0]?.headers).not.toHaveProperty('x-floodwall-timeout-ms')
  })
})

describe('attempts', () => {
  test('C23: each retry says which attempt it is', async () => {
    const origin = await startOrigin((_request, response) => {
      response.statusCode = origin.seen.length < 2 ? 500 : 200
      response.end('x')
    })
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { trust, layers: [{ kind: 'retry', attempts: 3, backoff: { first: 1 } }], endpoint: [] },
    })
    expect((await ask(gateway.port, { headers: { 'X-Floodwall-Attempt': '5' } })).status).toBe(200)
    expect(origin.seen.map(({ headers }) => headers['x-floodwall-attempt'])).toEqual([undefined, '1'])
  })

  test('a server that says that a retry would do harm is not asked again', async () => {
    const origin = await startOrigin((_request, response) => {
      response.writeHead(503, { 'X-Floodwall-Retry': 'no' })
      response.end('no')
    })
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { layers: [{ kind: 'retry', attempts: 3, backoff: { first: 1 } }], endpoint: [] },
    })
    const answer = await ask(gateway.port)
    expect(answer.status).toBe(503)
    expect(answer.body).toBe('no')
    expect(origin.seen).toHaveLength(1)
  })
})

describe('how the gateway says no', () => {
  const full = { layers: [{ kind: 'rateLimit', rate: 0.001, burst: 1 }], endpoint: [] }

  test('google: the error model of Google APIs, where the route says so', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { ...full, routes: [{ errors: 'google' }] },
    })
    await ask(gateway.port)
    const { status, headers, body } = await ask(gateway.port)
    expect(status).toBe(429)
    expect(headers['content-type']).toBe('application/json')
    expect(Number(headers['retry-after'])).toBeGreaterThan(1)
    expect(JSON.parse(body)).toEqual({
      error: {
        code: 429,
        message: expect.any(String) as string,
        status: 'RESOURCE_EXHAUSTED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'RATE',
            domain: 'floodwall',
            metadata: { requestId: headers['x-request-id'] },
          },
          {
            '@type': 'type.googleapis.com/google.rpc.RetryInfo',
            retryDelay: expect.stringMatching(/^[\d.]+s$/) as string,
          },
        ],
      },
    })
  })

  test('google, to a trusted peer: with the layer and its reason', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({
      upstreams: [origin.port],
      config: { ...full, trust, routes: [{ id: 'shop', errors: 'google' }] },
    })
    await ask(gateway.port)
    const { error } = JSON.parse((await ask(gateway.port)).body) as { error: { details: { metadata: object }[] } }
    expect(error.details[0]?.metadata).toMatchObject({ layer: 'shop/rateLimit', why: expect.any(String) as string })
  })

  test('a rate that is used up is 429', async () => {
    const origin = await startOrigin()
    const gateway = await startGateway({ upstreams: [origin.port], config: full })
    await ask(gateway.port)
    expect((await ask(gateway.port)).status).toBe(429)
  })
})
