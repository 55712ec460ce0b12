import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { configOf } from '../src/gateway/config/config.ts'
import { controlNames, controlPrefixes } from '../src/gateway/heads/control-names.ts'
import { Claims, forward, type Sender } from '../src/gateway/heads/forwarding.ts'
import { CONTROL, requestNames, responseNames } from '../src/gateway/heads/header-names.ts'
import { rangeOf, Trust } from '../src/gateway/listener/trust.ts'
import { configFile } from './support/gateway.ts'

function trustIn(...ranges: string[]): Trust {
  return new Trust(ranges.map((text) => rangeOf(text) as NonNullable<ReturnType<typeof rangeOf>>))
}

describe('whom to trust', () => {
  test.each([
    ['10.0.0.0/8', ['10.0.0.1', '10.255.255.255'], ['11.0.0.1', '9.255.255.255', '::ffff:11.0.0.1', 'unknown', '']],
    ['192.0.2.7', ['192.0.2.7'], ['192.0.2.6', '192.0.2.70']],
    ['::1', ['::1', '0:0:0:0:0:0:0:1'], ['::2', '127.0.0.1']],
    ['fd00::/8', ['fd00::1', 'fdff::'], ['fe80::1', '::1']],
    ['0.0.0.0/0', ['1.2.3.4'], ['::1', 'x']],
  ])('%s', (range, inside, outside) => {
    const { holds } = trustIn(range)
    expect(inside.filter((address) => !holds(address))).toEqual([])
    expect(outside.filter((address) => holds(address))).toEqual([])
  })

  test('nobody unless told', () => {
    const config = configOf({ upstream: ['http://127.0.0.1:3000'] })
    for (const address of ['127.0.0.1', '::1', '10.0.0.1']) expect(config.trust.holds(address)).toBe(false)
    expect(config.forwarded).toBe(false)
  })

  test.each([
    '',
    'x',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '::/129',
    '10.0.0',
    'a.test',
    'fe80::1%eth0',
  ])('%j is no range', (text) => {
    expect(rangeOf(text)).toBeUndefined()
    const file = configFile(JSON.stringify({ upstreams: ['http://x'], trust: [text] }))
    expect(() => configOf({ config: file })).toThrow(/trust\[0\]: expected an address or a range/)
  })
})

describe('control headers', () => {
  test.each(['baggage', 'grpc-timeout', 'connect-timeout-ms', 'x-request-deadline', 'x-criticality', 'x-attempt'])(
    '%s is one',
    (name) => expect(controlNames).toContain(name),
  )

  test('are known in every spelling, in both directions, and their families too', () => {
    const names = [...controlNames, ...controlPrefixes.map((prefix) => `${prefix}anything`)]
    for (const name of names) {
      for (const spelling of [name, name.toUpperCase(), name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())]) {
        expect(requestNames.role(spelling), spelling).toBe(CONTROL)
        expect(responseNames.role(spelling), spelling).toBe(CONTROL)
      }
    }
  })
})

const stranger: Sender = {
  address: '192.0.2.1',
  secure: false,
  trusted: false,
  criticalPlus: false,
  certificate: '',
  trusts: () => false,
}
const inside = trustIn('10.0.0.0/8', '::1')
const balancer: Sender = {
  address: '10.0.0.1',
  secure: true,
  trusted: true,
  criticalPlus: false,
  certificate: '',
  trusts: inside.holds,
}

/** The lines that are added for `claims` of a sender. */
function told(sender: Sender, given: readonly (readonly [string, string])[] | null, standard = false): string[] {
  const claims = given === null ? null : new Claims()
  for (const [name, value] of given ?? []) claims?.add(name, value)
  const lines: string[] = []
  lines.push(forward(lines, sender, 'a.test:81', claims, standard))
  const client = lines.pop() as string
  const pairs = Array.from({ length: lines.length / 2 }, (_, i) => `${lines[2 * i]}: ${lines[2 * i + 1]}`)
  return [...pairs, client]
}

describe('what is told about the way', () => {
  test('of a stranger', () => {
    expect(told(stranger, null, true)).toEqual([
      'x-forwarded-for: 192.0.2.1',
      'x-forwarded-proto: http',
      'x-forwarded-host: a.test:81',
      'x-real-ip: 192.0.2.1',
      'forwarded: for=192.0.2.1;proto=http;host="a.test:81"',
      '192.0.2.1',
    ])
  })

  test('of a trusted peer who says nothing', () => {
    expect(told(balancer, null)).toEqual([
      'x-forwarded-for: 10.0.0.1',
      'x-forwarded-proto: https',
      'x-forwarded-host: a.test:81',
      'x-real-ip: 10.0.0.1',
      '10.0.0.1',
    ])
  })

  test('of one who says it all', () => {
    expect(
      told(
        balancer,
        [
          ['X-Forwarded-For', '6.6.6.6, 192.0.2.7'],
          ['x-forwarded-for', '10.0.0.2'],
          ['X-Forwarded-Proto', 'https'],
          ['X-Forwarded-Proto', 'http'],
          ['X-Forwarded-Host', 'shop.test'],
          ['X-Forwarded-Port', '443'],
          ['X-Forwarded-Prefix', '/shop'],
          ['X-Real-IP', '7.7.7.7'],
          ['Forwarded', 'for=192.0.2.7'],
        ],
        true,
      ),
    ).toEqual([
      'x-forwarded-for: 6.6.6.6, 192.0.2.7, 10.0.0.2, 10.0.0.1',
      'x-forwarded-proto: http',
      'x-forwarded-host: shop.test',
      'X-Forwarded-Port: 443',
      'X-Forwarded-Prefix: /shop',
      'x-real-ip: 192.0.2.7',
      'forwarded: for=192.0.2.7, for=10.0.0.1;proto=https;host="a.test:81"',
      '192.0.2.7',
    ])
  })

  test('what a trusted peer has said in RFC 7239 passes where the gateway is not asked to continue it', () => {
    expect(told(balancer, [['Forwarded', 'for=192.0.2.7']])).toContain('forwarded: for=192.0.2.7')
  })

  test('IPv6 stands in quotes and brackets', () => {
    expect(told({ ...balancer, address: '::1' }, null, true)).toContain(
      'forwarded: for="[::1]";proto=https;host="a.test:81"',
    )
  })

  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7, 10.1.1.1 ,10.2.2.2', '192.0.2.7'],
    ['6.6.6.6, 192.0.2.7:5123, 10.1.1.1', '192.0.2.7'],
    ['[2001:db8::7]:443, 10.1.1.1', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['10.3.3.3, 10.1.1.1', '10.3.3.3'],
    ['unknown, 10.1.1.1', '10.1.1.1'],
    ['192.0.2.7, _hidden', '10.0.0.1'],
    ['192.0.2.7, 999.1.1.1', '10.0.0.1'],
    [',,', '10.0.0.1'],
    ['', '10.0.0.1'],
  ])('in "%s" the client is %s', (list, client) => {
    expect(told(balancer, [['X-Forwarded-For', list]]).at(-1)).toBe(client)
  })

  test('whatever strangers write to the left, the client is whom the last trusted one has seen', () => {
    const address = fc.constantFrom('6.6.6.6', '10.9.9.9', 'unknown', '', 'x y', '::1', '127.0.0.1')
    fc.assert(
      fc.property(fc.array(address, { maxLength: 5 }), fc.integer({ min: 0, max: 3 }), (invented, hops) => {
        const trusted = Array.from({ length: hops }, (_, i) => `10.0.1.${i}`)
        const list = [...invented, '192.0.2.7', ...trusted].join(', ')
        expect(told(balancer, [['X-Forwarded-For', list]]).at(-1)).toBe('192.0.2.7')
      }),
      { seed: 7, numRuns: 500 },
    )
  })
})
