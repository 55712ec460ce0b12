import { failed, TimeoutError } from 'floodwall'
import { describe, expect, test } from 'vitest'
import { targetOf } from '../../src/client/address.ts'
import { unsent } from '../../src/client/index.ts'
import { connectionOf } from '../../src/client/unsent.ts'
import { outcomeOfError } from '../../src/client/verdict.ts'
import type { Call } from '../../src/core/call.ts'

const coded = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more })
const fetchFailed = (cause: unknown) => new TypeError('fetch failed', { cause })

describe('what an error says about the connection', () => {
  const trap = {
    get code(): string {
      throw new Error('a trap')
    },
  }
  const ring = new Error('ring')
  ring.cause = ring
  test.each<[string, unknown, string]>([
    ['refused', coded('ECONNREFUSED'), 'none'],
    ['refused, in fetch', fetchFailed(coded('ECONNREFUSED')), 'none'],
    ['a connect timeout of undici', coded('UND_ERR_CONNECT_TIMEOUT'), 'none'],
    ['a timeout of connect()', coded('ETIMEDOUT', { syscall: 'connect' }), 'none'],
    ['a timeout of read()', coded('ETIMEDOUT', { syscall: 'read' }), 'made'],
    ['a reset', coded('ECONNRESET'), 'made'],
    ['a name without address', coded('ENOTFOUND', { syscall: 'getaddrinfo' }), 'none'],
    ['a certificate', coded('CERT_HAS_EXPIRED'), 'none'],
    [
      'several addresses',
      Object.assign(new AggregateError([coded('ETIMEDOUT', { syscall: 'connect' }), coded('ENETUNREACH')]), {
        code: 'ETIMEDOUT',
      }),
      'none',
    ],
    ['several errors of another kind', Object.assign(new AggregateError([coded('EPIPE')]), { code: 'EPIPE' }), 'made'],
    ['no sockets left here', coded('EMFILE'), 'ours'],
    ['no ports left here', fetchFailed(coded('EADDRNOTAVAIL', { syscall: 'connect' })), 'ours'],
    ['marked', unsent(new Error('the broker does not know us')), 'none'],
    ['marked, in fetch', fetchFailed(unsent(new Error('x'))), 'none'],
    ['an error of anybody', new Error('x'), 'made'],
    ['words', 'ECONNREFUSED', 'made'],
    ['nothing', undefined, 'made'],
    ['a trap', trap, 'made'],
    ['a ring', ring, 'made'],
  ])('%s', (_, error, expected) => {
    expect(connectionOf(error)).toBe(expected)
  })

  test('unsent returns the same error, frozen ones too', () => {
    const error = Object.freeze(new Error('x'))
    expect(unsent(error)).toBe(error)
    expect(connectionOf(error)).toBe('none')
  })
})

describe('what an error comes to', () => {
  const call = {} as Call
  test.each<[string, unknown, string, boolean]>([
    ['refused', coded('ECONNREFUSED'), 'failure', false],
    ['no sockets left here', coded('EMFILE'), 'ignored', false],
    ['a reset', coded('ECONNRESET'), 'failure', true],
    ['our timeout', new TimeoutError('timeout', 'shop', 5), 'timeout', true],
    ['no head in time', fetchFailed(coded('UND_ERR_HEADERS_TIMEOUT')), 'timeout', true],
    ['an abort', Object.assign(new Error('x'), { name: 'AbortError' }), 'ignored', true],
    ['a bad argument', coded('UND_ERR_INVALID_ARG'), 'ignored', true],
    ['an error of anybody', new Error('x'), 'failure', true],
    ['words', 'x', 'failure', true],
  ])('%s', (_, error, verdict, ran) => {
    expect(outcomeOfError(call, error)).toEqual(failed(error, verdict as 'failure', ran))
  })

  test('a classifier decides what was sent, and one that throws decides nothing', () => {
    const error = new Error('x')
    expect(outcomeOfError(call, error, () => 'overload').verdict).toBe('overload')
    expect(outcomeOfError(call, coded('ECONNREFUSED'), () => 'overload').verdict).toBe('failure')
    const broken = () => {
      throw new Error('y')
    }
    expect(outcomeOfError(call, error, broken, true)).toEqual(failed(error, 'failure', true, 0, true))
  })
})

describe('addresses', () => {
  test.each([
    ['10.0.0.1:8080', 'http://10.0.0.1:8080', '10.0.0.1', 8080],
    ['shop', 'http://shop', 'shop', 80],
    ['https://shop', 'https://shop', 'shop', 443],
    ['http://shop:80', 'http://shop', 'shop', 80],
    ['[::1]:81', 'http://[::1]:81', '::1', 81],
    ['https://[2001:db8::1]', 'https://[2001:db8::1]', '2001:db8::1', 443],
  ])('%s', (address, origin, host, port) => {
    const secure = origin.startsWith('https')
    expect(targetOf({ id: 'x', address })).toEqual({ origin, secure, host, port })
    expect(targetOf({ id: address })).toEqual({ origin, secure, host, port })
  })

  test.each(['', 'ftp://a', 'http://a/b', 'http://a?b', 'a/b', 'user:secret@a:1', 'a:99999', 'http://', 'a b'])(
    '"%s" is none',
    (address) => {
      expect(() => targetOf({ id: 'x', address })).toThrow(/endpoint "x": expected "host:port"/)
    },
  )

  test.each(['http://user:secret@a', 'user:secret@a:1'])('the credentials in %s are not told', (address) => {
    expect(() => targetOf({ id: 'x', address })).toThrow(/^(?!.*secret).*\*\*\*@a/)
  })
})
