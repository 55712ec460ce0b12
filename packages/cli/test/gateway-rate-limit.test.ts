import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { type Answer, ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

// A limit for each caller, from a line in YAML to what strangers hear of it.

/** Nothing comes back while a test runs. */
const perHour = (burst: number) => ({ rate: burst, per: '1h' })
const base = { endpoint: [], timeout: '10s', trust: ['127.0.0.1'] }
const said = ({ status, headers }: Answer) => [status, headers['ratelimit-policy'], headers['ratelimit']]

test('keys and limits of routes: each caller has his own, hears of it in both formats, and a reload forgives nothing', async () => {
  const origin = await startOrigin((_, response) => response.end('done'))
  const yaml = (rate: number, more = ''): string => `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
upstreams: [http://127.0.0.1:${origin.port}]
endpoint: []
timeout: 10s
trust: [127.0.0.1]
limits: { clients: 900 }
routes:
  - id: by-key
    path: /by-key
    key: [{ header: X-Api-Key }, { user: X-User }, { address: { v6Prefix: 56 } }]
    errors: google
    layers: [{ kind: keyed, of: { kind: rateLimit, rate: 1, per: 1h } }]
  - id: by-address
    key: address
    layers:
      - { kind: keyedRateLimit, rate: ${rate}, per: 1h${more} }
`
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { routes: [{ id: 'by-address' }] },
    args: ['--no-watch'],
  })
  writeFileSync(gateway.file, yaml(2))
  await reload(gateway)
  const get = (path: string, address: string, more: Record<string, string> = {}) =>
    ask(gateway.port, { path, headers: { 'X-Forwarded-For': address, ...more } })

  // Two addresses, as the trusted peer names them; what stands left of them is invented.
  const policy = '"by-address/keyedRateLimit";q=2;w=3600'
  const name = '"by-address/keyedRateLimit"'
  expect(said(await get('/', '6.6.6.6, 127.0.0.2'))).toEqual([200, policy, `${name};r=1;t=1800`])
  expect((await get('/', '127.0.0.2')).status).toBe(200)
  const refused = await get('/', '127.0.0.2')
  expect(said(refused)).toEqual([429, policy, `${name};r=0;t=${refused.headers['retry-after']}`])
  expect(refused.headers['content-type']).toBe('application/problem+json')
  const body = JSON.parse(refused.body) as { retryAfterMs: number }
  expect(body).toMatchObject({ type: 'urn:floodwall:problem:rate', status: 429, code: 'rate' })
  expect(Math.ceil(body.retryAfterMs / 1000)).toBe(Number(refused.headers['retry-after']))
  expect(said(await get('/', '127.0.0.3'))).toEqual([200, policy, `${name};r=1;t=1800`])
  expect(origin.seen).toHaveLength(3)

  // The other format, and other keys: a header, a user that a trusted peer names, a network of IPv6.
  expect((await get('/by-key', '127.0.0.2', { 'X-Api-Key': 'a' })).status).toBe(200)
  expect((await get('/by-key', '127.0.0.2', { 'X-Api-Key': 'b' })).status).toBe(200)
  const google = await get('/by-key', '127.0.0.9', { 'X-Api-Key': 'a', 'X-User': 'ann' })
  expect(google.status).toBe(429)
  const { error } = JSON.parse(google.body) as { error: { status: string; details: Record<string, unknown>[] } }
  expect(error.status).toBe('RESOURCE_EXHAUSTED')
  expect(error.details[1]).toEqual({
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: expect.stringMatching(/^35\d\d(?:\.\d+)?s$|^3600s$/),
  })
  const statuses = []
  for (const user of ['ann', 'ann', 'ben'])
    statuses.push((await get('/by-key', '127.0.0.2', { 'X-User': user })).status)
  for (const six of ['2001:db8:0:1::1', '2001:db8:0:ff::2', '2001:db8:0:100::1'])
    statuses.push((await get('/by-key', six)).status)
  expect(statuses).toEqual([200, 429, 200, 200, 429, 200])

  // New settings: another rate, and the same callers.
  writeFileSync(gateway.file, yaml(3, ', max: 50'))
  await reload(gateway)
  expect(said(await get('/', '127.0.0.2'))[1]).toBe('"by-address/keyedRateLimit";q=3;w=3600')
  const again = []
  for (let i = 0; i < 3; i++) again.push((await get('/', '127.0.0.2')).status)
  expect(again.filter((status) => status === 200).length).toBeLessThanOrEqual(1)
  expect((await get('/by-key', '127.0.0.2', { 'X-Api-Key': 'a' })).status).toBe(429)
  // No key is in a log, and none in what operators read.
  expect(JSON.stringify(await gateway.inspect()) + gateway.cli.stdout).not.toMatch(/127\.0\.0\.[239]\b|ann/)
  await gateway.quiet()
})

/** Waits for one more reload than there were. */
async function reload(gateway: Gateway): Promise<void> {
  const before = (await gateway.inspect()).reload.done
  gateway.cli.kill('SIGHUP')
  await until(async () => {
    const { done, faults } = (await gateway.inspect()).reload
    expect(faults).toEqual([])
    return done > before
  })
}

test("a server's own fields pass as they are, alone, unless a limit of ours refuses", async () => {
  const origin = await startOrigin((_, response) => {
    response.writeHead(200, ['RateLimit-Policy', '"theirs";q=9;w=1', 'RateLimit', '"theirs";r=8;t=1']).end('done')
  })
  const layers = [{ kind: 'keyed', of: { kind: 'rateLimit', ...perHour(1) } }]
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { ...base, routes: [{ id: 'api', key: 'address', layers }] },
  })
  expect(said(await ask(gateway.port))).toEqual([200, '"theirs";q=9;w=1', '"theirs";r=8;t=1'])
  expect(said(await ask(gateway.port))).toEqual([429, '"api/keyed";q=1;w=3600', '"api/keyed";r=0;t=3600'])
  await gateway.quiet()
})

test('what a stranger says of himself changes nothing: one address, one limit', async () => {
  const origin = await startOrigin((_, response) => response.end('done'))
  const layers = [
    { kind: 'keyed', of: { kind: 'rateLimit', ...perHour(1) } },
    { kind: 'rateLimit', ...perHour(100) },
  ]
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: {
      ...base,
      trust: [],
      routes: [
        { id: 'quiet', path: '/quiet', key: 'address', layers, rateLimitHeaders: 'none' },
        { id: 'all', path: '/all', key: 'address', layers, rateLimitHeaders: 'all' },
        { id: 'api', key: [{ user: 'X-User' }], layers },
      ],
    },
  })
  const get = (path: string, headers: Record<string, string> = {}) => ask(gateway.port, { path, headers })
  expect((await get('/', { 'X-User': 'ann' })).status).toBe(200)
  const refused = await get('/', { 'X-User': 'ben', 'X-Forwarded-For': '6.6.6.6' })
  expect(said(refused)).toEqual([429, '"api/keyed";q=1;w=3600', '"api/keyed";r=0;t=3600'])
  expect(said(await get('/all'))[2]).toBe('"all/keyed";r=0;t=3600, "all/rateLimit";r=99;t=3564')
  expect([said(await get('/quiet')), said(await get('/quiet'))]).toEqual([
    [200, undefined, undefined],
    [429, undefined, undefined],
  ])
  await gateway.quiet()
})

test('one hot item is limited, however it is written, and the others are not', async () => {
  const origin = await startOrigin((_, response) => response.end('done'))
  const layers = [
    { kind: 'hotParameter', parameter: 'query:item', ...perHour(1) },
    { kind: 'hotParameter', parameter: 'path:1', ...perHour(1) },
  ]
  const gateway = await startGateway({
    upstreams: [origin.port],
    config: { ...base, routes: [{ id: 'shop', layers }] },
  })
  const statuses = []
  for (const path of ['/?item=1', '/?item=1', '/?item=2', '/?%69tem=%31', '/', '/', '/items/7', '/items/./%37']) {
    statuses.push((await ask(gateway.port, { path })).status)
  }
  expect(statuses).toEqual([200, 429, 200, 429, 200, 200, 200, 429])
  await gateway.quiet()
})
