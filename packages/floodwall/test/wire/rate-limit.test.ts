import fc from 'fast-check'
import {
  leftOf,
  leftUntil,
  noWish,
  pauseOfRateLimit,
  policyOf,
  pushbackOfHeaders,
  readRateLimit,
  readRateLimitPolicy,
  writeRateLimit,
  writeRateLimitPolicy,
} from 'floodwall/wire'
import { describe, expect, test } from 'vitest'
import { readList } from '../../src/wire/structured-list.ts'

const quota = (limit: number, windowMs: number, left = limit, resetMs = 0) => ({ limit, windowMs, left, resetMs })
const never = Number.POSITIVE_INFINITY

describe('a policy is whole calls in whole seconds', () => {
  test.each([
    ['100 per minute', quota(100, 60_000), '"x";q=100;w=60'],
    ['a bucket of 10 at 5 a second', quota(10, 2000), '"x";q=10;w=2'],
    ['one in five seconds', quota(1, 5000), '"x";q=1;w=5'],
    ['1000 a second, one at a time', quota(1, 1), '"x";q=1000;w=1'],
    ['2.5 a second', quota(2.5, 1000), '"x";q=5;w=2'],
    ['a bucket of 10 at 3 a second: more than a bucket, never faster', quota(10, 10_000 / 3), '"x";q=12;w=4'],
    ['a bucket of 3 at 7 a minute', quota(3, 180_000 / 7), '"x";q=7;w=60'],
    ['pi a second: rather less', quota(3.14159265, 1000), '"x";q=3;w=1'],
    ['one in 1.7 million seconds and a bit', quota(1, 1_700_000_123.4), '"x";q=1;w=1700001'],
    ['a burst and nothing more', quota(5, never), '"x";q=5'],
    ['nothing at all', quota(0, never), '"x";q=0'],
    ['more than an integer can say', quota(1e300, 1000), '"x";q=999999999999999;w=1'],
  ])('%s', (_, given, expected) => {
    expect(writeRateLimitPolicy([policyOf('x', given)])).toBe(expected)
  })
})

describe('what is left is never an invitation to come faster', () => {
  const said = (given: ReturnType<typeof quota>) => writeRateLimit([leftOf(policyOf('x', given), given)])
  test.each([
    ['all of it: in the time in which it is earned', quota(100, 60_000), '"x";r=100;t=60'],
    ['half', quota(100, 60_000, 50, 10), '"x";r=50;t=30'],
    ['a little', quota(100, 60_000, 1, 10), '"x";r=1;t=1'],
    ['nothing: until there is something', quota(1, 5000, 0, 4100), '"x";r=0;t=5'],
    ['nothing, for a moment', quota(10, 2000, 0, 3), '"x";r=0;t=1'],
    ['nothing ever', quota(5, never, 0, never), '"x";r=0'],
    ['a burst and nothing more', quota(5, never, 3, never), '"x";r=3'],
  ])('%s', (_, given, expected) => {
    expect(said(given)).toBe(expected)
  })

  test('who was told to come again hears no time beyond that, and no more than is earned until then', () => {
    const given = quota(10, 2000, 4, 200)
    expect(writeRateLimit([leftUntil(policyOf('x', given), given, 1)])).toBe('"x";r=4;t=1')
    const slow = quota(10, 20_000, 4, 200)
    expect(writeRateLimit([leftUntil(policyOf('x', slow), slow, 1)])).toBe('"x";r=0;t=1')
  })

  test('whatever the limit: q/w and r/t stay below its rate, r below q, and all are whole', () => {
    const amounts = fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 0.01, max: 1e6, noNaN: true }))
    fc.assert(
      fc.property(
        amounts,
        fc.double({ min: 0.001, max: 1e9, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(1e6),
        (limit, windowMs, share, resetMs) => {
          const given = quota(limit, windowMs, Math.floor(limit * share), resetMs)
          const perS = (limit / windowMs) * 1000 * (1 + 2e-9)
          const policy = policyOf('x', given)
          const { left, resetS = 0 } = leftOf(policy, given)
          const { quota: q, windowS: w = 0 } = policy
          for (const n of [q, w, left, resetS]) expect(Number.isInteger(n)).toBe(true)
          expect(q / w).toBeLessThanOrEqual(perS)
          expect(left).toBeLessThanOrEqual(q)
          expect(resetS).toBeGreaterThanOrEqual(1)
          expect(left / resetS).toBeLessThanOrEqual(perS)
          const until = leftUntil(policy, given, 1 + (resetMs % 100))
          expect(until.left / (until.resetS as number)).toBeLessThanOrEqual(perS)
        },
      ),
      { seed: 8, numRuns: 400 },
    )
  })
})

describe('names', () => {
  test.each([
    ['quotes and backslashes are escaped', 'a"b\\c', '"a\\"b\\\\c";r=1;t=2'],
    ['what is not ASCII is a question mark', 'größe\n', '"gr??e?";r=1;t=2'],
    ['they end somewhere', 'x'.repeat(1000), `"${'x'.repeat(64)}";r=1;t=2`],
    ['an empty one is one', '', '"";r=1;t=2'],
  ])('%s', (_, name, expected) => {
    expect(writeRateLimit([{ name, left: 1, resetS: 2 }])).toBe(expected)
  })
})

describe('reading', () => {
  test('several limits are members of a list, over one line or many', () => {
    expect(readRateLimitPolicy('"permin";q=50;w=60,"perhr";q=1000;w=3600;qu="requests"')).toEqual([
      { name: 'permin', quota: 50, windowS: 60 },
      { name: 'perhr', quota: 1000, windowS: 3600 },
    ])
    expect(readRateLimit('"a";r=0;t=30 \t,\t"b";r=7')).toEqual([
      { name: 'a', left: 0, resetS: 30 },
      { name: 'b', left: 7, resetS: undefined },
    ])
  })

  test.each<[why: string, line: string, names: string[]]>([
    ['a token is a name, too (older drafts)', 'default;r=50;t=30', ['default']],
    ['other parameters are comments', '"a";r=1;pk=:cHsdsRa894==:;acme-x;y=?0;z=@1659578233;d=%"f%c3%bc";e=1.5', ['a']],
    ['blanks before a parameter', '  "a"; r=1;  t=2  ', ['a']],
    ['of two parameters the last counts', '"a";r=-1;r=1', ['a']],
    ['a member without r says nothing, and the others stand', '"a";t=1, "b";r=1', ['b']],
    ['a negative, a fraction, a text are no count', '"a";r=-1, "b";r=1.5, "c";r="1", "d";r, "e";r=2', ['e']],
    ['a number is no name', '1;r=1, "b";r=1', ['b']],
    ['an escaped name', '"a\\"\\\\";r=1', ['a"\\']],
    ['nothing', '', []],
    ['a comma that promises another one', '"a";r=1,', []],
    ['two commas', '"a";r=1,,"b";r=1', []],
    ['a list in a list', '("a" "b");r=1', []],
    ['the old dictionary', 'limit=100, remaining=50, reset=5', []],
    ['an open string', '"a;r=1', []],
    ['a wrong escape', '"a\\b";r=1', []],
    ['a name in capitals', '"a";R=1', []],
    ['a value that is missing', '"a";r=', []],
    ['a blank before the semicolon', '"a" ;r=1', []],
    ['sixteen digits', '"a";r=1234567890123456', []],
    ['a number that goes on', '"a";r=1.2.3', []],
    ['control characters', '"a\n";r=1', []],
    ['what is not ASCII', '"ä";r=1', []],
    ['sixteen members', Array.from({ length: 16 }, () => '"a";r=1').join(), Array.from({ length: 16 }, () => 'a')],
    ['seventeen', Array.from({ length: 17 }, () => '"a";r=1').join(), []],
    ['8 KB', `"${'a'.repeat(8187)}";r=1`, []],
  ])('%s', (_, line, expected) => {
    expect(readRateLimit(line).map(({ name }) => name)).toEqual(expected)
  })

  test('what was written is read; anything else throws nothing', () => {
    const name = fc.string({ unit: fc.constantFrom(...'abc/-_ "\\;,=0\''), maxLength: 64 })
    const limit = fc.record({ name, left: fc.nat(), resetS: fc.option(fc.nat(), { nil: undefined }) })
    fc.assert(
      fc.property(fc.array(limit, { minLength: 1, maxLength: 16 }), (limits) => {
        expect(readRateLimit(writeRateLimit(limits))).toEqual(limits)
      }),
      { seed: 9, numRuns: 300 },
    )
    const piece = fc.constantFrom(
      '"',
      '\\',
      ';',
      ',',
      '=',
      'r',
      't',
      '1',
      '-',
      '.',
      '?',
      ':',
      '%',
      '@',
      '(',
      ' ',
      '\t',
      'ä',
      '*',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(readList(pieces.join('')).length).toBeLessThanOrEqual(16)
      }),
      { seed: 10, numRuns: 500 },
    )
  })
})

describe('as a wish', () => {
  const wish = (headers: Readonly<Record<string, string | string[]>>) =>
    pushbackOfHeaders((name) => headers[name], Date.UTC(2026, 10, 30)).retryAfterMs

  test('nothing left is a pause, of the longest that has nothing left', () => {
    expect(pauseOfRateLimit('"a";r=0;t=3, "b";r=5;t=60, "c";r=0;t=9, "d";r=0')).toBe(9000)
    expect(wish({ ratelimit: '"a";r=0;t=30' })).toBe(30_000)
    expect(wish({ ratelimit: ['"a";r=0;t=3', '"b";r=0;t=4'] })).toBe(4000)
  })

  test('Retry-After counts before it, also where it cannot be read', () => {
    expect(wish({ ratelimit: '"a";r=0;t=30', 'retry-after': '2' })).toBe(2000)
    expect(wish({ ratelimit: '"a";r=0;t=30', 'retry-after': 'soon' })).toBe(0)
  })

  test('something left, a malformed line and no time are no wish; a day is the longest', () => {
    for (const ratelimit of ['"a";r=1;t=30', '"a";r=0', 'r=0;t=5', '"a";r=0;t=1;']) {
      expect(pushbackOfHeaders((name) => (name === 'ratelimit' ? ratelimit : undefined), 0)).toEqual(noWish)
    }
    expect(wish({ ratelimit: '"a";r=0;t=999999999' })).toBe(86_400_000)
  })
})
