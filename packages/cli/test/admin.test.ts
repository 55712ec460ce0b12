import { beforeAll, describe, expect, test } from 'vitest'
import { type Gateway, startGateway } from './support/gateway.ts'
import { ask, wire } from './support/http.ts'
import { type Origin, startOrigin } from './support/origin.ts'
import { until } from './support/until.ts'

let gateway: Gateway
let origin: Origin

beforeAll(async () => {
  origin = await startOrigin((request, response) => {
    response.statusCode = request.url === '/503' ? 503 : 200
    response.end('x')
  })
  const config = {
    layers: [
      { kind: 'bulkhead', slots: 100 },
      { kind: 'retry', attempts: 2, backoff: { first: '1ms' } },
    ],
  }
  gateway = await startGateway({ upstreams: [origin.port], config })
})

// C34: the control page as a way in.
describe('C34: the admin page', () => {
  test.each(['/inspect', '/metrics', '/healthz', '/readyz'])('%s is for reading, without caching', async (path) => {
    const answer = await gateway.admin(path)
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    expect(await ask(gateway.adminPort, { method: 'HEAD', path })).toMatchObject({ status: 200, body: '' })
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      expect(await ask(gateway.adminPort, { method, path })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD' },
      })
    }
  })

  test.each([
    ['127.0.0.1:PORT', 200],
    ['localhost:PORT', 200],
    ['LOCALHOST:PORT', 200],
    ['[::1]:PORT', 200],
    ['127.0.0.1', 403],
    ['localhost', 403],
    ['127.0.0.1:1', 403],
    ['evil.test', 403],
    ['evil.test:PORT', 403],
    ['127.0.0.1.evil.test:PORT', 403],
  ])('asked for as "%s" it says %i', async (host, status) => {
    const name = host.replace('PORT', String(gateway.adminPort))
    expect((await ask(gateway.adminPort, { path: '/inspect', headers: { host: name } })).status).toBe(status)
  })

  test('without Host it says 403, and something else is not there', async () => {
    for (const host of ['', 'Host:\r\n']) {
      const line = await wire(gateway.adminPort, `GET /inspect HTTP/1.1\r\n${host}\r\n`)
      await until(() => line.statuses.length > 0)
      expect(line.statuses).toEqual([403])
    }
    expect((await gateway.admin('/')).status).toBe(404)
    expect((await gateway.admin('/inspect?x')).status).toBe(404)
  })

  test('the traffic port has no admin pages', async () => {
    const before = origin.seen.length
    for (const path of ['/inspect', '/metrics', '/healthz']) expect((await ask(gateway.port, { path })).body).toBe('x')
    expect(origin.seen.length).toBe(before + 3)
  })
})

/** The text format, read as a scraper reads it: every line must make sense. */
function parse(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  const types = new Map<string, string>()
  const form = /^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (-?[\d.e+-]+|\+Inf)$/
  expect(text.endsWith('\n')).toBe(true)
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line)
    if (type !== null) {
      expect(types.has(type[1] as string)).toBe(false)
      types.set(type[1] as string, type[2] as string)
    }
    if (line.startsWith('#')) continue
    const parts = form.exec(line)
    if (parts === null) throw new Error(`not a sample: ${line}`)
    const name = parts[1] as string
    const base = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
    expect(types.has(base), line).toBe(true)
    expect(Number.isFinite(Number(parts[3])), line).toBe(true)
    const key = `${name}{${parts[2] ?? ''}}`
    expect(samples.has(key), key).toBe(false)
    samples.set(key, Number(parts[3]))
  }
  return samples
}

describe('metrics', () => {
  test('count what happened', async () => {
    const before = parse((await gateway.admin('/metrics')).body)
    for (let i = 0; i < 3; i++) await ask(gateway.port)
    await ask(gateway.port, { path: '/503' })
    await ask(gateway.port, { method: 'MKCOL', path: '/' })
    await gateway.quiet()
    const after = parse((await gateway.admin('/metrics')).body)
    const grown = (key: string) => (after.get(key) ?? 0) - (before.get(key) ?? 0)
    const endpoint = `cluster="default",endpoint="127.0.0.1:${origin.port}"`
    expect(grown('floodwall_requests_total{route="default",method="GET",status="2xx"}')).toBe(3)
    expect(grown('floodwall_requests_total{route="default",method="GET",status="5xx"}')).toBe(1)
    expect(grown('floodwall_requests_total{route="default",method="OTHER",status="2xx"}')).toBe(1)
    expect(grown('floodwall_request_duration_seconds_count{route="default"}')).toBe(5)
    expect(grown('floodwall_request_duration_seconds_bucket{route="default",le="+Inf"}')).toBe(5)
    const buckets = [...after].filter(([key]) => key.startsWith('floodwall_request_duration_seconds_bucket'))
    expect(buckets.map(([, count]) => count)).toEqual(buckets.map(([, count]) => count).sort((a, b) => a - b))
    expect(after.get('floodwall_request_duration_seconds_sum{route="default"}')).toBeGreaterThan(0)
    expect(grown(`floodwall_upstream_attempts_total{${endpoint}}`)).toBe(6)
    expect(grown('floodwall_retries_total{layer="default/retry"}')).toBe(1)
    expect(grown('floodwall_calls_total{route="default",verdict="success"}')).toBe(4)
    expect(after.get('floodwall_requests_in_flight{}')).toBe(0)
    expect(after.get(`floodwall_upstream_in_flight{${endpoint}}`)).toBe(0)
    expect(after.get('floodwall_ready{}')).toBe(1)
    const layer = `layer="default/balance/127.0.0.1:${origin.port}/breaker"`
    expect(after.get(`floodwall_breaker_state{${layer},state="closed"}`)).toBe(1)
    expect(after.get(`floodwall_breaker_state{${layer},state="open"}`)).toBe(0)
    expect(after.get('process_resident_memory_bytes{}')).toBeGreaterThan(1e7)
    expect(after.get('process_cpu_seconds_total{}')).toBeGreaterThan(0)
  })

  // C37: metric labels a stranger can choose.
  test('C37: nothing that a client chose becomes a label, and the number of series is bounded', async () => {
    const secret = 'zz-chosen-by-a-stranger'
    const before = parse((await gateway.admin('/metrics')).body).size
    const line = await wire(gateway.port)
    for (let i = 0; i < 500; i++) {
      // Not all at once: one connection has a hundred under way at most.
      if (i % 50 === 0) await until(() => line.statuses.length === i)
      line.write(`GET /${secret}/${i} HTTP/1.1\r\nHost: ${secret}-${i}.test\r\nUser-Agent: ${secret}${i}\r\n\r\n`)
    }
    await until(() => line.statuses.length === 500)
    for (const method of ['PROPFIND', 'LOCK', 'PURGE', 'REPORT']) await ask(gateway.port, { method })
    await wire(gateway.port, `${secret} / HTTP/1.1\r\n\r\n`)
    line.socket.destroy()
    const { body } = await gateway.admin('/metrics')
    expect(body).not.toContain(secret)
    expect((await gateway.admin('/inspect')).body).not.toContain(secret)
    expect(parse(body).size).toBeLessThan(before + 20)
  })
})
