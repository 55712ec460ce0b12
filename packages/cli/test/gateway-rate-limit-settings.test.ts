import { describe, expect, test } from 'vitest'
import { effective } from '../src/gateway/admin/effective.ts'
import { configOf } from '../src/gateway/config/config.ts'
import { Misconfigured } from '../src/gateway/config/document.ts'
import { configFile } from './support/gateway.ts'

// Whose a request is, as the settings say it.

describe('settings', () => {
  const faultsOf = (route: object) => {
    const file = configFile(JSON.stringify({ upstreams: ['http://127.0.0.1:1'], routes: [route] }))
    try {
      configOf({ config: file })
    } catch (error) {
      if (error instanceof Misconfigured) return error.message
      throw error
    }
    return 'none'
  }
  const form = 'address, { address: { v6Prefix: 56 } }, { header: X-Api-Key }, { user: X-User }, or a list of them'
  test.each<[key: unknown, fault: string]>([
    ['adress', `routes[0].key: expected ${form}, got "adress"`],
    [7, `routes[0].key: expected ${form}, got 7`],
    [[], `routes[0].key: expected ${form}`],
    [['address', { headers: 'x' }], `routes[0].key[1]: expected ${form}`],
    [{ header: 'x y' }, 'routes[0].key.header: expected the name of a header, got "x y"'],
    [[{ user: 7 }], 'routes[0].key[0].user: expected the name of a header, got 7'],
    [
      { address: { v6Prefix: 200 } },
      'routes[0].key.address.v6Prefix: expected a whole number of bits from 0 to 128, got 200',
    ],
    [{ address: { v6: 64 } }, 'routes[0].key.address.v6: expected no such field'],
    [{ header: 'x', user: 'y' }, 'routes[0].key.user: expected no such field'],
    [Array.from({ length: 9 }, () => 'address'), 'routes[0].key: expected at most 8'],
  ])('key: %j', (key, fault) => {
    expect(faultsOf({ key })).toContain(fault)
  })

  test('rateLimitHeaders: a word', () => {
    expect(faultsOf({ rateLimitHeaders: true })).toContain('routes[0].rateLimitHeaders: expected one of "keyed", "all"')
  })

  test.each([0, -1, 'item', 'user.id'])('a parameter that no request has: %j', (parameter) => {
    const expected = `expected "header:" or "query:" with a name, or "path:" with a number, got ${JSON.stringify(parameter)}`
    const layer = { kind: 'hotParameter', parameter, rate: 1 }
    expect(faultsOf({ layers: [{ kind: 'rateLimit', rate: 1 }, layer] })).toContain(
      `routes[0].layers[1].parameter: ${expected}`,
    )
    expect(faultsOf({ layers: [{ kind: 'shadow', of: { ...layer } }] })).toContain(
      `routes[0].layers[0].of.parameter: ${expected}`,
    )
    expect(faultsOf({ layers: [{ ...layer, parameter: 'query:item' }] })).toBe('none')
  })

  test('in effect, as operators read them; and who forgot the key is warned', () => {
    const layers = [{ kind: 'keyedRateLimit', rate: 1 }]
    const routes = [
      { id: 'a', path: '/a', key: ['address', { header: 'X-Api-Key' }], layers },
      { id: 'b', path: '/b', layers },
      { id: 'c', layers },
    ]
    const config = configOf({ config: configFile(JSON.stringify({ upstreams: ['http://127.0.0.1:1'], routes })) })
    expect((effective(config) as { routes: object[] }).routes[0]).toMatchObject({
      key: [
        { by: 'address', v4Prefix: 32, v6Prefix: 64 },
        { by: 'header', name: 'x-api-key' },
      ],
      rateLimitHeaders: 'keyed',
    })
    expect(config.concerns).toEqual([
      expect.stringMatching(/^routes "b", "c": keyedRateLimit counts all callers as one: "key"/),
    ])
  })
})
