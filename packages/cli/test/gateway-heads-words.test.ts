import { describe, expect, test } from 'vitest'
import { wishOf } from '../src/gateway/exchange/wish.ts'
import { isFramed, ResponseHead, trailersOf } from '../src/gateway/heads/response-head.ts'

describe('Retry-After', () => {
  const date = 'Mon, 30 Nov 2026 08:00:00 GMT'

  test.each([
    ['0', 0],
    ['7', 7000],
    ['300', 300_000],
    ['301', 300_000],
    ['999999999', 300_000],
    ['9999999999', 300_000],
    ['-1', 0],
    ['1.5', 0],
    ['+5', 0],
    ['soon', 0],
    ['', 0],
    ['Mon, 30 Nov 2026 08:00:30 GMT', 30_000],
    ['Mon, 30 Nov 2026 07:59:59 GMT', 0],
    ['Mon, 30 Nov 2099 08:00:00 GMT', 300_000],
    ['30 Nov 2026 08:00:30', 0],
    ['2026-11-30T08:00:30Z', 0],
  ])('"%s" is %i ms, and never more than five minutes', (value, ms) => {
    expect(wishOf({ 'retry-after': value, date }, null).retryAfterMs).toBe(ms)
  })

  test('without a date of the server ours counts', () => {
    const later = new Date(Date.now() + 3_600_000).toUTCString()
    expect(wishOf({ 'retry-after': later }, null).retryAfterMs).toBe(300_000)
    expect(wishOf({}, null).retryAfterMs).toBe(0)
  })
})

test.each([
  [undefined, true],
  ['chunked', true],
  ['Chunked', true],
  ['gzip, chunked', false],
  ['chunked, gzip', false],
  ['chunked, chunked', false],
  ['identity', false],
  ['', false],
])('a coding of %j: %s', (coding, framed) => {
  expect(isFramed(coding === undefined ? {} : { 'transfer-encoding': coding })).toBe(framed)
})

test('what steers its reader is for trusted peers, in heads and behind bodies', () => {
  const headers = { 'x-envoy-any': '1', baggage: 'a=1', 'x-kept': '1' }
  expect(new ResponseHead(200, headers, false).lines).toEqual(['x-kept', '1', 'via', '1.1 floodwall'])
  expect(new ResponseHead(200, headers, true).lines).toContain('baggage')
  expect(trailersOf(headers, false)).toEqual([['x-kept', '1']])
  expect(trailersOf(headers, true)).toHaveLength(3)
})

test('no trailer frames, routes, or changes what was judged', () => {
  const forbidden = [
    ...['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'te', 'trailer', 'upgrade', 'content-type'],
    ...['content-encoding', 'content-range', 'cache-control', 'set-cookie', 'location', 'authorization', 'retry-after'],
    ...['host', 'age', 'date', 'expires', 'vary', 'via', 'x-request-id', 'proxy-authenticate', 'www-authenticate'],
  ]
  expect(trailersOf(Object.fromEntries(forbidden.map((name) => [name, '1'])), true)).toEqual([])
})
