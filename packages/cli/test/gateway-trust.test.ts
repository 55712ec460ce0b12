import { timeoutAliases } from 'floodwall/wire'
import { beforeAll, describe, expect, test } from 'vitest'
import { controlNames, controlPrefixes } from '../src/gateway/heads/control-names.ts'
import { type Gateway, startGateway } from './support/gateway.ts'
import { type Answer, ask } from './support/http.ts'
import { type Origin, type Seen, startOrigin } from './support/origin.ts'

// Who is trusted, and what a stranger is not. The same servers behind three gateways.

const controls = [...controlNames, ...controlPrefixes.map((prefix) => `${prefix}any`)]

let origin: Origin
let strange: Gateway
let trusting: Gateway
let standard: Gateway

beforeAll(async () => {
  origin = await startOrigin((request, response) => {
    const status = request.url === '/fails' ? 500 : 200
    response.writeHead(status, [...controls.flatMap((name) => [name, '1']), 'X-Kept', '1', 'Retry-After', '99999'])
    response.end('ok')
  })
  const start = (config: object): Promise<Gateway> =>
    startGateway({ upstreams: [origin.port], config: { layers: [], ...config } })
  strange = await start({ trust: ['10.0.0.0/8', '::1'] })
  trusting = await start({ trust: ['127.0.0.0/8', '192.0.2.99'] })
  standard = await start({ trust: ['127.0.0.1'], forwarded: true })
})

async function sent(gateway: Gateway, headers: readonly string[]): Promise<{ answer: Answer; seen: Seen }> {
  const answer = await ask(gateway.port, { headers: ['Host', 'shop.test', ...headers] })
  return { answer, seen: origin.seen.at(-1) as Seen }
}

describe('control headers', () => {
  const lines = controls.flatMap((name) => [name.toUpperCase(), '1'])

  test('of strangers end here, in both directions', async () => {
    const { answer, seen } = await sent(strange, [...lines, 'X-Kept', '1'])
    for (const name of controls) {
      expect(seen.headers, name).not.toHaveProperty(name)
      expect(answer.headers, name).not.toHaveProperty(name)
    }
    expect(seen.headers).toMatchObject({ 'x-kept': '1' })
    expect(answer.headers).toMatchObject({ 'x-kept': '1' })
  })

  test('of trusted peers pass, in both directions; time is told anew (see gateway-steering)', async () => {
    const passing = controls.filter((name) => !Object.values<string>(timeoutAliases).includes(name))
    const { answer, seen } = await sent(
      trusting,
      passing.flatMap((name) => [name.toUpperCase(), '1']),
    )
    for (const name of passing) expect(seen.headers, name).toHaveProperty(name, '1')
    for (const name of controls) expect(answer.headers, name).toHaveProperty(name, '1')
  })

  test('no underscore helps', async () => {
    const { seen } = await sent(strange, ['GRPC_TIMEOUT', '1', 'x_envoy_any', '1'])
    for (const name of ['grpc_timeout', 'x_envoy_any']) expect(seen.headers).not.toHaveProperty(name)
  })
})

const claims = [
  ...['X-Forwarded-For', '6.6.6.6', 'X-Forwarded-For', '192.0.2.7, 192.0.2.99', 'X-Forwarded-Proto', 'https'],
  ...['X-Forwarded-Host', 'front.test', 'X-Forwarded-Port', '443', 'X-Forwarded-Prefix', '/p', 'X-Real-IP', '7.7.7.7'],
  ...['Forwarded', 'for=192.0.2.7;proto=https', 'X_Forwarded_For', '8.8.8.8'],
]

describe('forwarding', () => {
  test('what a stranger says is replaced', async () => {
    const { seen } = await sent(strange, claims)
    expect(seen.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'shop.test',
      'x-real-ip': '127.0.0.1',
    })
    for (const gone of ['x-forwarded-port', 'x-forwarded-prefix', 'forwarded', 'x_forwarded_for']) {
      expect(seen.headers).not.toHaveProperty(gone)
    }
  })

  test('what a trusted peer says is continued', async () => {
    const { seen } = await sent(trusting, claims)
    expect(seen.headers).toMatchObject({
      'x-forwarded-for': '6.6.6.6, 192.0.2.7, 192.0.2.99, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'front.test',
      'x-forwarded-port': '443',
      'x-forwarded-prefix': '/p',
      'x-real-ip': '192.0.2.7',
      forwarded: 'for=192.0.2.7;proto=https',
    })
  })

  test('in RFC 7239, too, where it is asked for', async () => {
    const { seen } = await sent(standard, claims)
    expect(seen.headers.forwarded).toBe('for=192.0.2.7;proto=https, for=127.0.0.1;proto=http;host=shop.test')
    const bare = await sent(standard, [])
    expect(bare.seen.headers.forwarded).toBe('for=127.0.0.1;proto=http;host=shop.test')
  })

  // C29: an identity that the gateway adds cannot be named away, by whomever.
  test.each(['strange', 'trusting'])('C29: naming them in Connection removes nothing (%s)', async (who) => {
    const named = ['Connection', 'X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, X-Real-IP']
    const { seen } = await sent(who === 'strange' ? strange : trusting, [...named, ...claims])
    for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip']) {
      expect(seen.headers).toHaveProperty(name)
    }
    if (who === 'trusting') expect(seen.headers['x-forwarded-for']).toContain('192.0.2.7')
  })

  test('the name of a request is kept from trusted peers', async () => {
    expect((await sent(trusting, ['X-Request-Id', 'given-1'])).answer.headers['x-request-id']).toBe('given-1')
    expect((await sent(strange, ['X-Request-Id', 'given-1'])).answer.headers['x-request-id']).not.toBe('given-1')
  })
})

describe('who said no, and why', () => {
  const limited = (trust: readonly string[]): Promise<Gateway> =>
    startGateway({
      upstreams: [origin.port],
      config: { trust, layers: [{ kind: 'rateLimit', rate: 1, per: '1h' }], endpoint: [] },
    })

  async function refusal(trust: readonly string[]): Promise<Record<string, unknown>> {
    const gateway = await limited(trust)
    await ask(gateway.port)
    return JSON.parse((await ask(gateway.port)).body) as Record<string, unknown>
  }

  test('is told to trusted peers', async () => {
    const told = await refusal(['127.0.0.1'])
    expect(told).toMatchObject({ code: 'rate', layer: 'default/rateLimit' })
    expect(told['why']).toMatch(/\d/)
  })

  test('and to nobody else', async () => {
    const told = await refusal([])
    expect(Object.keys(told).sort()).toEqual(['code', 'detail', 'requestId', 'retryAfterMs', 'status', 'title', 'type'])
  })

  test('of a time limit, and of a server that broke off', async () => {
    const silent = await startOrigin((request) => {
      if (request.url === '/breaks') request.socket.destroy()
    })
    const gateway = await startGateway({
      upstreams: [silent.port],
      config: { trust: ['127.0.0.1'], layers: [], endpoint: [{ kind: 'timeout', after: '200ms' }] },
    })
    const late = JSON.parse((await ask(gateway.port)).body) as Record<string, unknown>
    expect(late['layer']).toMatch(/timeout$/)
    expect(late['why']).toContain('no answer within 200 ms')
    const broken = JSON.parse((await ask(gateway.port, { path: '/breaks' })).body) as Record<string, unknown>
    expect(broken).toMatchObject({ code: 'upstream-reset', why: 'reset' })
    expect(broken).not.toHaveProperty('layer')
  })
})
