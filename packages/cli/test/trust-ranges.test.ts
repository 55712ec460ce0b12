import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rangeOf, Trust } from '../src/gateway/listener/trust.ts'

// Node's own list is the reference: ranges of IPv4 are compared as numbers here, which must not change what is in one.

const ipv4 = fc
  .tuple(fc.constantFrom(10, 127, 192, 255, 0), fc.nat(255), fc.nat(255), fc.nat(255))
  .map((parts) => parts.join('.'))
const mapped = ipv4.map((address) => `::ffff:${address}`)
const ipv6 = fc
  .tuple(fc.constantFrom('fd00', 'fe80', '::', '0', '2001'), fc.nat(0xffff))
  .map(([start, end]) => (start === '::' ? `::${end.toString(16)}` : `${start}::${end.toString(16)}`))
const ranges = fc
  .oneof(fc.tuple(ipv4, fc.nat(32)), fc.tuple(fc.oneof(mapped, ipv6), fc.nat(128)))
  .map(([address, bits]) => `${address}/${bits}`)

test('an address is trusted exactly if one of the ranges holds it', () => {
  const found = { inside: 0, outside: 0 }
  fc.assert(
    fc.property(fc.array(ranges, { maxLength: 4 }), fc.oneof(ipv4, mapped, ipv6), (texts, address) => {
      const parsed = texts.map((text) => rangeOf(text) as NonNullable<ReturnType<typeof rangeOf>>)
      const list = new BlockList()
      for (const { address: from, bits, family } of parsed) list.addSubnet(from, bits, family)
      const inside = list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
      expect(new Trust(parsed).holds(address)).toBe(inside)
      found[inside ? 'inside' : 'outside']++
    }),
    { numRuns: 1000 },
  )
  expect(Math.min(found.inside, found.outside)).toBeGreaterThan(50)
})
