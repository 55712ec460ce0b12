import type { IncomingMessage } from 'node:http'
import { isConfigError } from 'floodwall'
import { byAddress, byHeader, byUser, firstOf } from 'floodwall/server'
import { describe, expect, test } from 'vitest'

// Which of several things says whose a request is, and what becomes of those of whom nothing does.

type Known = IncomingMessage & { readonly user?: unknown }

function request(lines: readonly string[] = [], user?: unknown): Known {
  return { socket: { remoteAddress: '192.0.2.1' }, headers: {}, rawHeaders: lines, user } as unknown as Known
}

function faultOf(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (isConfigError(error)) return error.issues.map(({ path, expected }) => `${path}: ${expected}`).join()
  }
  return 'none'
}

describe('by header', () => {
  const key = byHeader('X-Api-Key')
  test.each<[why: string, lines: readonly string[], expected: string]>([
    ['its value, whatever the case of its name', ['x-API-key', 'abc'], 'x-api-key=abc'],
    ['without blanks around it', ['x-api-key', ' abc '], 'x-api-key=abc'],
    ['absent: the address, and not one key for all', ['x-api-ke', 'abc'], '192.0.2.1'],
    ['empty', ['x-api-key', '  '], '192.0.2.1'],
    ['twice: whoever reads it next may take the other one', ['x-api-key', 'a', 'X-Api-Key', 'a'], '192.0.2.1'],
    ['too long', ['x-api-key', 'a'.repeat(257)], '192.0.2.1'],
    ['just not too long', ['x-api-key', 'a'.repeat(256)], `x-api-key=${'a'.repeat(256)}`],
    ['an address as a key is not that address', ['x-api-key', '192.0.2.1'], 'x-api-key=192.0.2.1'],
  ])('%s', (_, lines, expected) => {
    expect(key(request(lines))).toBe(expected)
  })

  test('other bounds, and somebody else to ask', () => {
    const short = byHeader('x-key', { most: 3, otherwise: () => 'strangers' })
    expect(short(request(['x-key', 'abcd']))).toBe('strangers')
    expect(short(request(['x-key', 'abc']))).toBe('x-key=abc')
    const broken = byHeader('x-key', {
      otherwise: () => {
        throw new Error('no')
      },
    })
    expect(broken(request())).toBe('')
  })
})

describe('by user', () => {
  const key = byUser(({ user }: Known) => (user as { id: string }).id)
  test.each<[why: string, user: unknown, expected: string | number]>([
    ['a text', { id: 'ann' }, 'user=ann'],
    ['a number stays one', { id: 7 }, 7],
    ['nobody: the function throws', undefined, '192.0.2.1'],
    ['an empty one', { id: '' }, '192.0.2.1'],
    ['no number', { id: Number.NaN }, '192.0.2.1'],
    ['an object is nobody', { id: {} }, '192.0.2.1'],
    ['too long', { id: 'a'.repeat(257) }, '192.0.2.1'],
  ])('%s', (_, user, expected) => {
    expect(key(request([], user))).toBe(expected)
  })
})

describe('the first that is known', () => {
  const key = firstOf(
    byHeader('x-api-key'),
    byUser(({ user }: Known) => user as string),
    ({ headers }: Known) => (headers['x-own'] as string | undefined) ?? null,
    byAddress({ v4Prefix: 24 }),
  )
  test.each<[why: string, asked: Known, expected: string]>([
    ['the header', request(['x-api-key', 'abc'], 'ann'), 'x-api-key=abc'],
    ['then the user, and not the address that the header alone would fall back to', request([], 'ann'), 'user=ann'],
    ['then a function of yours', { ...request(), headers: { 'x-own': 'me' } } as unknown as Known, 'me'],
    ['then the address', request(), '192.0.2.0/24'],
  ])('%s', (_, asked, expected) => {
    expect(key(asked)).toBe(expected)
  })

  test('none of them: the address all the same', () => {
    expect(firstOf(byHeader('x-api-key'))(request())).toBe('192.0.2.1')
    expect(firstOf()(request())).toBe('192.0.2.1')
  })

  test('Fastify keeps the request of Node in its own', () => {
    expect(byAddress()({ raw: request() })).toBe('192.0.2.1')
    expect(byHeader('x-a')({ raw: request(['x-a', '1']) })).toBe('x-a=1')
  })
})

test.each<[make: () => unknown, fault: string]>([
  [() => byAddress({ v6Prefix: 129 }), 'byAddress.v6Prefix: a whole number of bits from 0 to 128'],
  [() => byAddress({ v4Prefix: -1 }), 'byAddress.v4Prefix: a whole number of bits from 0 to 32'],
  [() => byAddress({ proxies: ['10.0.0.0/33'] }), 'byAddress.proxies: addresses and networks'],
  [() => byAddress({ header: 'x-real-ip' as 'forwarded' }), 'byAddress.header: one of "x-forwarded-for", "forwarded"'],
  [
    () => byAddress({ proxy: [] } as object),
    'byAddress.proxy: no such field; known: proxies, header, v4Prefix, v6Prefix',
  ],
  [() => byHeader('x y'), 'byHeader: the name of a header'],
  [() => byHeader('x', { most: 0 }), 'byHeader.most: a whole number from 1'],
  [() => byUser('ann' as never), 'byUser: a function of the request'],
  [() => firstOf(byAddress(), 'x-api-key' as never), 'firstOf[1]: a function of the request'],
])('a fault is told with field and expectation: %#', (make, fault) => {
  expect(faultOf(make)).toContain(fault)
})
