import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { byAddress, networkOf } from 'floodwall/server'
import { describe, expect, test } from 'vitest'

interface From {
  readonly address?: string | undefined
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly user?: unknown
}

/** A request as node:http hands it out, as far as keys look at it. */
function request({ address = '192.0.2.1', headers = [], user }: From = {}): IncomingMessage & { user: unknown } {
  const joined: Record<string, string> = {}
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    joined[lower] = joined[lower] === undefined ? value : `${joined[lower]}, ${value}`
  }
  const made = { socket: { remoteAddress: address }, headers: joined, rawHeaders: headers.flat(), user }
  return made as unknown as IncomingMessage & { user: unknown }
}
const nowhere = () => ({ ...request(), socket: {} }) as unknown as IncomingMessage & { user: unknown }

describe('the network of an address', () => {
  test.each<[text: string, network: string | undefined]>([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:4711', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:c000:207', '192.0.2.7'],
    ['[::ffff:192.0.2.7]:80', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:1'],
    ['fe80::2%1', 'fe80:0:0:0:0:0:0:2'],
    ...[
      '',
      'unknown',
      '_hidden',
      '_x:1',
      '192.0.2',
      '192.0.2.256',
      '192.0.02.7',
      '1.2.3.4.5',
      '192.0.2.7:',
      '192.0.2.7:8 0',
    ].map((text): [string, undefined] => [text, undefined]),
    ...[
      ':::',
      '1::2::3',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      '12345::',
      'g::',
      '[::1',
      '[::1]x',
      '::1.2.3',
      '1.2.3.4::',
      '::1.2.3.4:5',
    ].map((text): [string, undefined] => [text, undefined]),
    ['1'.repeat(1_000_000), undefined],
    [`${':'.repeat(70)}`, undefined],
  ])('%.40s', (text, network) => {
    expect(networkOf(text, { v4Prefix: 32, v6Prefix: 64 })).toBe(network)
  })

  test.each<[text: string, v4Prefix: number, v6Prefix: number, network: string]>([
    ['192.0.2.255', 24, 64, '192.0.2.0/24'],
    ['255.255.255.255', 1, 64, '128.0.0.0/1'],
    ['192.0.2.255', 0, 64, '0.0.0.0/0'],
    ['2001:db8:1:23ff::', 32, 56, '2001:db8:1:2300::/56'],
    ['2001:db8:1:23ff::', 32, 48, '2001:db8:1::/48'],
    ['2001:db8::1', 32, 128, '2001:db8:0:0:0:0:0:1'],
    ['2001:db8::ffff', 32, 120, '2001:db8:0:0:0:0:0:ff00/120'],
    ['2001:db8::1', 32, 0, '::/0'],
  ])('%s by %i and %i', (text, v4Prefix, v6Prefix, network) => {
    expect(networkOf(text, { v4Prefix, v6Prefix })).toBe(network)
  })

  test('a network is the same however its address is written, and never throws', () => {
    const group = fc.integer({ min: 0, max: 0xffff })
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const long = groups.map((g) => g.toString(16).padStart(4, '0').toUpperCase()).join(':')
        const short = new URL(`http://[${groups.map((g) => g.toString(16)).join(':')}]`).hostname
        const prefixes = { v4Prefix: 32, v6Prefix: 64 }
        expect(networkOf(short, prefixes)).toBe(networkOf(long, prefixes))
        expect(networkOf(long, prefixes)).toBeDefined()
      }),
      { seed: 12, numRuns: 200 },
    )
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0129af:.[]%/x'), maxLength: 50 }), (text) => {
        const network = networkOf(text, { v4Prefix: 32, v6Prefix: 64 })
        expect(network === undefined || network.length < 50).toBe(true)
      }),
      { seed: 13, numRuns: 500 },
    )
  })
})

describe('by address', () => {
  const key = byAddress({ proxies: ['10.0.0.0/8', '::1'] })
  const through = (list: string, address = '10.0.0.1') =>
    key(request({ address, headers: [['X-Forwarded-For', list]] }))

  test('of strangers the address counts, and nothing that they say', () => {
    expect(byAddress()(request({ headers: [['X-Forwarded-For', '6.6.6.6']] }))).toBe('192.0.2.1')
    expect(through('6.6.6.6', '192.0.2.1')).toBe('192.0.2.1')
    expect(through('6.6.6.6', '::ffff:192.0.2.1')).toBe('192.0.2.1')
    expect(key(nowhere())).toBe('')
    expect(key(request({ address: 'a pipe' }))).toBe('')
  })

  test.each<[why: string, list: string, expected: string]>([
    ['the one that the proxy names', '192.0.2.7', '192.0.2.7'],
    ['through several proxies', '192.0.2.7, 10.0.0.3,10.0.0.2', '192.0.2.7'],
    ['whatever stands left of it', '6.6.6.6, 10.0.0.9, 192.0.2.7', '192.0.2.7'],
    ['all are ours: the first', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['unknown ends the walk', '192.0.2.7, unknown, 10.0.0.2', '10.0.0.2'],
    ['and so does a name', '192.0.2.7, _hidden', '10.0.0.1'],
    ['and an empty place', '192.0.2.7, , 10.0.0.2', '10.0.0.2'],
    ['nothing', '', '10.0.0.1'],
    ['commas', ',,,,', '10.0.0.1'],
    ['duplicates', '192.0.2.7, 192.0.2.7', '192.0.2.7'],
    ['a port', '192.0.2.7:5555', '192.0.2.7'],
    ['IPv6 in brackets, with a port', '[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
    ['quoted, which is Forwarded and not this', '"[2001:db8::1]:443"', '10.0.0.1'],
    ['IPv4 in IPv6 clothes', '::ffff:1.2.3.4', '1.2.3.4'],
    ['a proxy in IPv6 clothes', '1.2.3.4, ::ffff:10.0.0.2', '1.2.3.4'],
    ['a huge one', `${'1'.repeat(100_000)}, 10.0.0.2`, '10.0.0.2'],
  ])('%s', (_, list, expected) => {
    expect(through(list)).toBe(expected)
  })

  test('ten thousand hops are walked a few steps', () => {
    const list = Array.from({ length: 10_000 }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
    expect(through(list.join())).toBe(list.at(-32))
    expect(through([...list, '192.0.2.7'].join())).toBe('192.0.2.7')
  })

  test('several lines are one list', () => {
    const headers = [
      ['X-Forwarded-For', '6.6.6.6'],
      ['x-forwarded-for', '192.0.2.7, 10.0.0.2'],
    ] as const
    expect(key(request({ address: '::1', headers }))).toBe('192.0.2.7')
  })

  describe('by Forwarded', () => {
    const standard = byAddress({ proxies: ['10.0.0.0/8'], header: 'forwarded' })
    test.each<[why: string, list: string, expected: string]>([
      ['the one that the proxy names', 'for=192.0.2.7;proto=https', '192.0.2.7'],
      ['whatever stands left of it', 'for=6.6.6.6, For=192.0.2.7, for=10.0.0.2;host="a,b"', '192.0.2.7'],
      ['quoted IPv6 with a port', 'for="[2001:db8:1:2::9]:4711"', '2001:db8:1:2::/64'],
      ['a name for a port', 'for="192.0.2.7:_p1"', '192.0.2.7'],
      ['unknown', 'for=192.0.2.7, for=unknown', '10.0.0.1'],
      ['hidden', 'for=_gazonk', '10.0.0.1'],
      ['without for', 'for=6.6.6.6, proto=http', '10.0.0.1'],
      ['two of them', 'for=6.6.6.6;for=192.0.2.7', '10.0.0.1'],
      ['in a host that a stranger chose', 'host="x;for=6.6.6.6";for=192.0.2.7', '192.0.2.7'],
      ['behind a quote in it', 'host="x\\";for=6.6.6.6";for=192.0.2.7', '192.0.2.7'],
      ['a quote that a stranger has opened', 'for="6.6.6.6, for=192.0.2.7', '192.0.2.7'],
      ['and one more of them', 'for="6.6.6.6, for=192.0.2.7;host="x', '10.0.0.1'],
      ['nothing', '', '10.0.0.1'],
      ['rubbish', '=;,"\\', '10.0.0.1'],
      ['huge', `for=${'9'.repeat(50_000)}`, '10.0.0.1'],
      ['ten thousand backslashes', `for="${'\\'.repeat(10_000)}"`, '10.0.0.1'],
    ])('%s', (_, list, expected) => {
      expect(standard(request({ address: '10.0.0.1', headers: [['Forwarded', list]] }))).toBe(expected)
    })

    test('the other header is not read: its author may be a stranger', () => {
      expect(standard(request({ address: '10.0.0.1', headers: [['X-Forwarded-For', '6.6.6.6']] }))).toBe('10.0.0.1')
      expect(key(request({ address: '10.0.0.1', headers: [['Forwarded', 'for=6.6.6.6']] }))).toBe('10.0.0.1')
    })
  })

  test('what a stranger writes left of the last trusted hop never matters, and nothing throws', () => {
    const noise = fc.string({ unit: fc.constantFrom(...'0123456789., :[]"\\;=forx'), maxLength: 60 })
    fc.assert(
      fc.property(noise, (text) => {
        expect(through(`${text}, 192.0.2.7, 10.0.0.2`)).toBe('192.0.2.7')
        expect(typeof through(text)).toBe('string')
      }),
      { seed: 14, numRuns: 300 },
    )
  })
})
