import fc from 'fast-check'
import {
  both,
  type Code,
  errorFormats,
  noWish,
  pushbackOfBody,
  pushbackOfBoth,
  pushbackOfHeaders,
  saidOf,
  verdictOfStatus,
  writeError,
} from 'floodwall/wire'
import { describe, expect, test } from 'vitest'

const NOW = Date.UTC(2026, 10, 30)
const facts = { code: 'rate' as Code, detail: 'Too often.', retryAfterMs: 3500, noRetry: false }

describe('what is said', () => {
  test('as problem+json (RFC 9457)', () => {
    const { status, headers, body } = writeError('problem', facts)
    expect(status).toBe(429)
    expect(headers).toEqual({
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'retry-after': '4',
    })
    expect(JSON.parse(body)).toEqual({
      type: 'urn:floodwall:problem:rate',
      title: 'Too many requests',
      status: 429,
      detail: 'Too often.',
      code: 'rate',
      retryAfterMs: 3500,
    })
  })

  test('as an error of Google APIs', () => {
    const { headers, body } = writeError('google', facts)
    expect(headers['content-type']).toBe('application/json')
    expect(JSON.parse(body)).toEqual({
      error: {
        code: 429,
        message: 'Too often.',
        status: 'RESOURCE_EXHAUSTED',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'RATE', domain: 'floodwall', metadata: {} },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '3.5s' },
        ],
      },
    })
  })

  test.each(errorFormats)('%s: what is written is read: the wait, or that there should be none', (format) => {
    const wait = writeError(format, facts)
    expect(pushbackOfBody(wait.body)).toEqual({ retryAfterMs: 3500, noRetry: false })
    expect(pushbackOfHeaders((name) => wait.headers[name], NOW)).toEqual({ retryAfterMs: 4000, noRetry: false })
    const never = writeError(format, { ...facts, code: 'overloaded_do_not_retry', noRetry: true })
    expect(never.status).toBe(503)
    expect(never.headers['retry-after']).toBeUndefined()
    expect(pushbackOfBody(never.body)).toEqual({ retryAfterMs: 0, noRetry: true })
    expect(pushbackOfHeaders((name) => never.headers[name], NOW)).toEqual({ retryAfterMs: 0, noRetry: true })
  })

  test.each([
    ['rate', 429, 'RESOURCE_EXHAUSTED'],
    ['full', 503, 'RESOURCE_EXHAUSTED'],
    ['queue-full', 503, 'RESOURCE_EXHAUSTED'],
    ['queue-timeout', 503, 'RESOURCE_EXHAUSTED'],
    ['open', 503, 'UNAVAILABLE'],
    ['probing', 503, 'UNAVAILABLE'],
    ['unreachable', 503, 'UNAVAILABLE'],
    ['recovering', 503, 'UNAVAILABLE'],
    ['closed', 503, 'UNAVAILABLE'],
    ['deadline', 504, 'DEADLINE_EXCEEDED'],
    ['timeout', 504, 'DEADLINE_EXCEEDED'],
    ['overloaded_do_not_retry', 503, 'UNAVAILABLE'],
    ['internal', 500, 'INTERNAL'],
  ] as const)('%s is %i and %s', (code, http, grpc) => {
    expect(saidOf(code)).toMatchObject({ http, grpc })
  })
})

describe('what a server wishes', () => {
  test("the seed's: a RetryInfo on a 401", () => {
    const body = {
      error: {
        code: 401,
        message: 'Request had invalid credentials.',
        status: 'UNAUTHENTICATED',
        details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '30s' }],
      },
    }
    expect(pushbackOfBody(JSON.stringify(body))).toEqual({ retryAfterMs: 30_000, noRetry: false })
  })

  test.each([
    ['5000', { retryAfterMs: 5000, noRetry: false }],
    ['0', noWish],
    ['-1', { retryAfterMs: 0, noRetry: true }],
    ['soon', { retryAfterMs: 0, noRetry: true }],
    ['', { retryAfterMs: 0, noRetry: true }],
  ])('grpc-retry-pushback-ms: %s', (value, wish) => {
    expect(pushbackOfHeaders((name) => (name === 'grpc-retry-pushback-ms' ? value : undefined), NOW)).toEqual(wish)
  })

  test.each([
    ['not JSON', '{'],
    ['a number', '5'],
    ['null', 'null'],
    ['a list', '[]'],
    ['another error', '{"error":"no"}'],
    ['details that are none', '{"error":{"details":{}}}'],
    [
      'a delay that is none',
      '{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"-3s"}]}}',
    ],
    ['a wait that is none', '{"retryAfterMs":"5"}'],
    ['much too long', `{"retryAfterMs":5,"x":"${'x'.repeat(70_000)}"}`],
  ])('%s is no wish', (_name, text) => {
    expect(pushbackOfBody(text)).toEqual(noWish)
  })

  test('has bounds, whatever it is', () => {
    expect(pushbackOfBody('{"retryAfterMs":1e300}').retryAfterMs).toBe(86_400_000)
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const { retryAfterMs } = pushbackOfBody(JSON.stringify(value))
        expect(retryAfterMs >= 0 && retryAfterMs <= 86_400_000).toBe(true)
      }),
      { seed: 6, numRuns: 2000 },
    )
  })

  test.each([
    [4000, 3500, 3500],
    [4000, 4000, 4000],
    [4000, 3000, 4000],
    [3000, 3500, 3500],
    [120_000, 3500, 120_000],
    [4000, 0, 4000],
    [0, 3500, 3500],
  ])('a header of %d ms and a body of %d: %d', (header, body, meant) => {
    const wish = (retryAfterMs: number, noRetry = false) => ({ retryAfterMs, noRetry })
    expect(pushbackOfBoth(wish(header), wish(body))).toEqual(wish(meant))
    expect(pushbackOfBoth(wish(header, true), wish(body))).toEqual(wish(meant, true))
    expect(pushbackOfBoth(wish(header), wish(body, true))).toEqual(wish(meant, true))
  })

  test('of two the longer wait, and "no" from either', () => {
    expect(both({ retryAfterMs: 5, noRetry: false }, { retryAfterMs: 3, noRetry: true })).toEqual({
      retryAfterMs: 5,
      noRetry: true,
    })
  })
})

test.each([
  [200, false, 'success'],
  [301, false, 'success'],
  [400, false, 'success'],
  [404, true, 'success'],
  [428, false, 'success'],
  [429, false, 'overload'],
  [429, true, 'overload'],
  [500, true, 'failure'],
  [501, false, 'success'],
  [502, false, 'failure'],
  [503, false, 'failure'],
  [503, true, 'overload'],
  [504, false, 'failure'],
  [505, false, 'success'],
] as const)('a status of %i (asks for a pause: %s) is a %s', (status, pause, verdict) => {
  expect(verdictOfStatus(status, pause)).toBe(verdict)
})
