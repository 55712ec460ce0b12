import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { type Answer, ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'

// Layers of the library as rules of a route, through the whole gateway.

const codeOf = ({ body }: Answer): string => (JSON.parse(body) as { code: string }).code

describe('as rules of a route', () => {
  test('breaker by slow calls: a server that answers, and too late, is cut off', async () => {
    const origin = await startOrigin((_request, response) => void setTimeout(() => response.end('late'), 120))
    const breaker = { kind: 'breaker', slowAfter: '40ms', slowRate: 0.5, atLeast: 4, openFor: '60s' }
    const gateway = await startGateway({ upstreams: [origin.port], config: { layers: [breaker], endpoint: [] } })
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(gateway.port)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    const refused = await ask(gateway.port)
    expect(refused.status).toBe(503)
    expect(codeOf(refused)).toBe('open')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(50)
  })

  test('throttle: what would fail anyway is kept from the server, but for probes', async () => {
    const origin = await startOrigin((_request, response) => {
      response.statusCode = 500
      response.end()
    })
    const config = { layers: [{ kind: 'throttle', over: '2s' }], endpoint: [] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    // The throttle wants to see failures for a second before it believes in an outage.
    const codes = new Set<string>()
    for (let i = 0; i < 300; i++) {
      const answer = await ask(gateway.port)
      if (answer.headers['content-type'] === 'application/problem+json') codes.add(codeOf(answer))
      await pause(5)
    }
    expect([...codes]).toEqual(['throttled'])
    expect(origin.seen.length).toBeLessThan(300)
  })

  test('hedge: a second try elsewhere when the first is late; the first success is the answer', async () => {
    const slow = await startOrigin((_request, response) => {
      setTimeout(() => response.end('slow'), 3000).unref()
    })
    const fast = await startOrigin((_request, response) => response.end('fast'))
    const config = {
      layers: [{ kind: 'hedge', after: '50ms', budget: { ratio: 1, minimum: 100 } }],
      endpoint: [],
      balance: { picker: 'roundRobin' },
    }
    const gateway = await startGateway({ upstreams: [slow.port, fast.port], config })
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(gateway.port)))
    expect(answers.map(({ body }) => body)).toEqual(Array.from({ length: 6 }, () => 'fast'))
    expect(slow.seen.length).toBeGreaterThan(0)
    await gateway.quiet()
  })

  test('holdBack: who was told to come back later is answered here until then, and other routes and methods are not', async () => {
    const origin = await startOrigin((request, response) => {
      if (request.url === '/busy') response.writeHead(429, { 'Retry-After': '30' })
      response.end('x')
    })
    const routes = [{ id: 'busy', path: '/busy' }, { id: 'rest' }]
    const config = { routes, layers: [{ kind: 'holdBack' }], endpoint: [] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect((await ask(gateway.port, { path: '/busy' })).status).toBe(429)
    const held = await ask(gateway.port, { path: '/busy' })
    expect(codeOf(held)).toBe('held-back')
    expect(Number(held.headers['retry-after'])).toBeGreaterThan(20)
    expect(origin.seen).toHaveLength(1)
    expect((await ask(gateway.port, { path: '/other' })).status).toBe(200)
    expect((await ask(gateway.port, { path: '/busy', method: 'DELETE' })).status).toBe(429)
    expect(origin.seen).toHaveLength(3)
  })
})
