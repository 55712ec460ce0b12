import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Hosts } from '../src/gateway/heads/hosts.ts'
import { isNone, numberOfFour } from '../src/gateway/heads/ip-address.ts'
import { isRequestId, RequestIds } from '../src/gateway/heads/request-ids.ts'
import { traceOf } from '../src/gateway/heads/trace-context.ts'
import { hostOf } from '../src/gateway/routes/host-pattern.ts'
import { tickShape } from '../src/gateway/tick-shape.ts'

// What is asked for every request is answered by short ways: each must say what the long one says.

describe('addresses of IPv4 as numbers', () => {
  const piece = fc.oneof(fc.nat(300).map(String), fc.constantFrom('', '00', '01', '1e1', ' 1', '-1', '١', '255', '256'))
  const text = fc.oneof(
    fc.array(piece, { minLength: 3, maxLength: 5 }).map((pieces) => pieces.join('.')),
    fc.string({ maxLength: 16 }),
    fc.ipV4(),
    fc.ipV6(),
  )

  test('what is one for node:net is one here, and nothing else', () => {
    const found = { addresses: 0, others: 0 }
    fc.assert(
      fc.property(text, (address) => {
        const number = numberOfFour(address)
        expect(!isNone(number)).toBe(isIP(address) === 4)
        found[isNone(number) ? 'others' : 'addresses']++
        if (!isNone(number)) expect([24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join('.')).toBe(address)
      }),
      { numRuns: 5000 },
    )
    expect(Math.min(found.addresses, found.others)).toBeGreaterThan(500)
  })
})

describe('hosts', () => {
  test.each(['a.test', 'A.TEST:80', 'a.test.', '[::1]:8080', '192.0.2.7', 'a_b.test'])('%s, once and again', (host) => {
    const hosts = new Hosts()
    expect([hosts.of(host), hosts.of(host)]).toEqual([hostOf(host), hostOf(host)])
  })

  test.each(['', ' ', 'a b', 'a/b', 'a@b', '[::1', 'a:b', '.a', 'a\u0000'])('%j is none, once and again', (host) => {
    const hosts = new Hosts()
    expect([hosts.of(host), hosts.of(host)]).toEqual([undefined, undefined])
  })

  test('what strangers invent is not remembered without end, and answered all the same', () => {
    const hosts = new Hosts()
    for (let i = 0; i < 10_000; i++) expect(hosts.of(`H${i}.test:1`)).toBe(`h${i}.test`)
    expect((Reflect.get(hosts, 'spellings') as Map<string, string>).size).toBeLessThanOrEqual(512)
  })
})

describe('names of requests', () => {
  test('are names, and each is there once', () => {
    const ids = new RequestIds()
    const made = Array.from({ length: 50_000 }, () => ids.next())
    expect(new Set(made).size).toBe(made.length)
    expect(made.every(isRequestId)).toBe(true)
  })
})

describe('traceparent', () => {
  const hex = (digits: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits }),
      fc.constantFrom('0'.repeat(digits), 'f'.repeat(digits), 'A'.repeat(digits)),
    )
  const parent = fc.tuple(hex(2), hex(32), hex(16), hex(2), fc.constantFrom('', '', '-', '-more', 'more', '\n'))

  test('is one by the letter of the specification, or none', () => {
    const found = { traces: 0, others: 0 }
    fc.assert(
      fc.property(parent, ([version, trace, span, flags, rest]) => {
        const wellFormed = ![version, trace, span, flags].some((field) => /[^0-9a-f]/.test(field))
        const lasting = version === '00' ? rest === '' : rest === '' || rest.startsWith('-')
        const fine = wellFormed && lasting && version !== 'ff' && !/^0+$/.test(trace) && !/^0+$/.test(span)
        expect(traceOf(`${version}-${trace}-${span}-${flags}${rest}`)).toBe(fine ? trace : '')
        found[fine ? 'traces' : 'others']++
      }),
      { numRuns: 5000 },
    )
    expect(Math.min(found.traces, found.others)).toBeGreaterThan(200)
  })
})

test("what is kept for node's ticks is a tick", async () => {
  const { kept } = (await tickShape()) as { kept: object }
  expect(Object.keys(kept)).toEqual(expect.arrayContaining(['callback', 'args']))
  expect(Object.getOwnPropertySymbols(kept).length).toBeGreaterThanOrEqual(2)
})
