import { describe, expect, test } from 'vitest'
import { wishOf } from '../src/gateway/exchange/wish.ts'
import { startGateway } from './support/gateway.ts'
import { ask } from './support/http.ts'
import { startOrigin } from './support/origin.ts'

// What servers ask their callers to do, wherever they say it.

const thrice = { layers: [{ kind: 'retry', attempts: 3, backoff: { first: 1 } }], endpoint: [] }
const google = (details: object[]): string => JSON.stringify({ error: { code: 503, details } })
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'

/** How often a server is asked that answers `status` with this; what it said must have reached the client. */
async function asked(status: number, headers: Readonly<Record<string, string>>, body: string): Promise<number> {
  const origin = await startOrigin((_request, response) => response.writeHead(status, headers).end(body))
  const gateway = await startGateway({ upstreams: [origin.port], config: thrice })
  expect(await ask(gateway.port)).toMatchObject({ status, body })
  await gateway.quiet()
  return origin.seen.length
}

const json = { 'content-type': 'application/json' }
const problem = { 'content-type': 'application/problem+json; charset=utf-8' }

describe('not again', () => {
  test.each([
    ['a negative pushback of gRPC', { 'grpc-retry-pushback-ms': '-1' }, 'x'],
    ['the code of a problem', problem, '{"code":"overloaded_do_not_retry"}'],
    [
      'the error model of Google',
      json,
      google([{ '@type': ERROR_INFO, domain: 'floodwall', metadata: { retry: 'no' } }]),
    ],
  ])('%s', async (_what, headers, body) => {
    expect(await asked(503, headers, body)).toBe(1)
    expect(await asked(500, headers, body)).toBe(1)
  })

  test.each([
    ['what is no JSON', { 'content-type': 'text/plain' }, '{"code":"overloaded_do_not_retry"}'],
    ['what is coded', { ...json, 'content-encoding': 'gzip' }, '{"code":"overloaded_do_not_retry"}'],
    ['what is no wish', json, '{"code":"overloaded_do_not_retry"'],
    ['what is long', json, `{"code":"overloaded_do_not_retry","x":"${'x'.repeat(70_000)}"}`],
  ])('%s is not read', async (_what, headers, body) => {
    // As often as the budget of retries allows.
    expect(await asked(503, headers, body)).toBeGreaterThan(1)
  })
})

describe('later', () => {
  /** More time than the request has: who has read it does not try again. */
  const hour = '3600s'

  test.each([
    ['RetryInfo', json, google([{ '@type': RETRY_INFO, retryDelay: hour }])],
    ['a problem', problem, '{"retryAfterMs":3600000}'],
    ['a pushback of gRPC', { 'grpc-retry-pushback-ms': '3600000' }, 'x'],
    ['Retry-After, on any failure', { 'retry-after': '3600' }, 'x'],
  ])('%s: the next try would come too late', async (_what, headers, body) => {
    const origin = await startOrigin((_request, response) => response.writeHead(502, headers).end(body))
    const config = { ...thrice, layers: [{ kind: 'deadline', within: '10s' }, ...thrice.layers] }
    const gateway = await startGateway({ upstreams: [origin.port], config })
    expect(await ask(gateway.port)).toMatchObject({ status: 502, body })
    expect(origin.seen).toHaveLength(1)
  })

  test('C6 RetryInfo on a 401 is read, and is no failure', async () => {
    const body = google([{ '@type': RETRY_INFO, retryDelay: '2.5s' }])
    expect(wishOf(json, [Buffer.from(body.slice(0, 9)), Buffer.from(body.slice(9))])).toEqual({
      retryAfterMs: 2500,
      noRetry: false,
    })
    expect(await asked(401, json, body)).toBe(1)
  })

  test('of a header in whole seconds and a body in parts of them the body is meant', () => {
    const body = [Buffer.from('{"retryAfterMs":1200}')]
    expect(wishOf({ ...problem, 'retry-after': '2' }, body).retryAfterMs).toBe(1200)
  })
})
