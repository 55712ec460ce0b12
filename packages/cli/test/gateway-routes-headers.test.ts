import { expect, test } from 'vitest'
import { configOf } from '../src/gateway/config/config.ts'
import { certificate } from './support/certificates.ts'
import { configFile, type Gateway, startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { askTls, filesOf } from './support/tls.ts'

// Routes look at the headers that go to the server. What a stranger writes and the gateway takes out opens no route.

/** For each of `headers` there is a route; they answer `inside`, and the one for all others `outside`. */
async function guarded(headers: readonly object[], config: object = {}): Promise<Gateway> {
  const [inside, outside] = await Promise.all(
    ['inside', 'outside'].map((text) => startOrigin((_request, response) => response.end(text))),
  )
  const clusters = {
    inside: { endpoints: [`http://127.0.0.1:${inside?.port}`] },
    outside: { endpoints: [`http://127.0.0.1:${outside?.port}`] },
  }
  const routes = [...headers.map((each) => ({ headers: each, cluster: 'inside' })), { cluster: 'outside' }]
  return startGateway({ upstreams: [], config: { upstreams: undefined, clusters, routes, ...config } })
}

type Written = readonly (readonly [asked: object, written: Readonly<Record<string, string>>])[]

const forged: Written = [
  [{ 'x-forwarded-proto': 'https' }, { 'X-Forwarded-Proto': 'https' }],
  [{ 'x-forwarded-host': 'inner' }, { 'X-Forwarded-Host': 'inner' }],
  [{ 'x-forwarded-for': '10.0.0.1' }, { 'X-Forwarded-For': '10.0.0.1' }],
  [{ 'x-forwarded-user': true }, { 'X-Forwarded-User': 'root' }],
  [{ 'x-real-ip': '10.0.0.1' }, { 'X-Real-IP': '10.0.0.1' }],
  [{ forwarded: 'for=10.0.0.1' }, { Forwarded: 'for=10.0.0.1' }],
  [{ 'x-envoy-internal': true }, { 'X-Envoy-Internal': 'true' }],
  [{ 'x-floodwall-criticality': true }, { 'X-Floodwall-Criticality': 'CRITICAL' }],
  [{ 'client-cert': true }, { 'Client-Cert': ':AAAA:' }],
  [{ 'x-mine': true }, { 'X-Mine': '1', Connection: 'X-Mine' }],
]

test('what strangers write and no server gets opens no route to them, however they spell it', async () => {
  const gateway = await guarded(forged.map(([asked]) => asked))
  for (const [, headers] of forged) {
    expect((await ask(gateway.port, { headers })).body).toBe('outside')
    const other = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replaceAll('-', '_'), value]))
    expect((await ask(gateway.port, { headers: other })).body).toBe('outside')
  }
})

test('what trusted peers write does, but for what is nobody’s word but the gateway’s', async () => {
  const gateway = await guarded(
    forged.map(([asked]) => asked),
    { trust: ['127.0.0.0/8'] },
  )
  const bodies: string[] = []
  for (const [, headers] of forged) bodies.push((await ask(gateway.port, { headers })).body)
  const [proto, host, addresses, user, real, forwarded, internal, rank, cert, mine] = bodies
  // Whom a trusted peer names is `X-Real-IP`; what he says about that himself is not heard.
  expect([proto, host, addresses, user, forwarded, internal, rank]).toEqual(Array(7).fill('inside'))
  expect([real, cert, mine]).toEqual(Array(3).fill('outside'))
})

test('what nobody takes out is matched as it was written, and what the gateway says of a stranger, whatever he says', async () => {
  const gateway = await guarded([{ 'X-Tier': 'gold' }])
  expect((await ask(gateway.port, { headers: { 'x-tier': 'gold' } })).body).toBe('inside')
  expect((await ask(gateway.port, { headers: { 'x-tier': 'Gold' } })).body).toBe('outside')
  const plain = await guarded([{ 'x-forwarded-proto': 'http' }])
  expect((await ask(plain.port, { headers: { 'X-Forwarded-Proto': 'https' } })).body).toBe('inside')
})

test('client-cert: who has proved it takes the route, and who has not does not', async () => {
  const authority = certificate('authority', { authority: true })
  const tls = {
    ...filesOf(certificate('site', { by: authority })),
    ca: configFile(authority.cert, 'ca.pem'),
    clientCert: 'request',
  }
  const gateway = await guarded([{ 'client-cert': true }], { tls })
  const { cert, key } = certificate('somebody', { by: authority })
  const from = { ca: authority.cert }
  expect((await askTls(gateway.port, { ...from, cert, key })).body).toBe('inside')
  expect((await askTls(gateway.port, from)).body).toBe('outside')
  expect((await askTls(gateway.port, { ...from, headers: { 'Client-Cert': ':AAAA:' } })).body).toBe('outside')
})

test.each([
  'host',
  'Connection',
  'transfer-encoding',
  'content-length',
  'expect',
  'upgrade',
  'proxy-authorization',
  'x-request-id',
  'x_tier',
])('a route cannot ask for what no server gets of a client: %s', (name) => {
  const settings = { upstreams: ['http://127.0.0.1:1'], routes: [{ headers: { [name]: true } }] }
  expect(() => configOf({ config: configFile(JSON.stringify(settings)) })).toThrow(
    /routes\[0\]\.headers.*a header that/,
  )
})
