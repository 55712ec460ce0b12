import { readHttpDate, readRetryAfter, writeRetryAfter } from 'floodwall/wire'
import { describe, expect, test } from 'vitest'

const NOW = Date.UTC(2026, 10, 30, 8, 0, 0)
const date = (ms: number): string => new Date(ms).toUTCString()

// C20: Retry-After in all its forms.
describe('C20: Retry-After', () => {
  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    [date(NOW + 90_000), 90_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sun Nov  6 08:49:37 1994', 0],
    ['-3', 0],
    ['+3', 0],
    ['1.5', 0],
    ['1e3', 0],
    ['0x10', 0],
    ['99999999999', 0],
    ['9999999999', 86_400_000],
    ['abc', 0],
    ['', 0],
    ['   ', 0],
    [' 5 ', 5000],
    ['Wed, 32 Oct 2026 07:28:00 GMT', 0],
    ['Mon, 30 Nov 2026 25:00:00 GMT', 0],
    ['Mon, 30 Nov 2026 08:01:00 UTC', 0],
    ['Mon, 30 Nov 2026 08:01:00', 0],
    ['2026-11-30T08:01:00Z', 0],
    ['5, 10', 0],
  ])('%j', (text, ms) => {
    expect(readRetryAfter(text, NOW)).toBe(ms)
  })

  test('no header is no wish', () => {
    expect(readRetryAfter(undefined, NOW)).toBe(0)
    expect(readRetryAfter(null, NOW)).toBe(0)
  })

  test("a date is read by the server's own clock where it told it: ten minutes ahead are ten minutes ahead", () => {
    const theirs = NOW + 600_000
    expect(readRetryAfter(date(theirs + 30_000), NOW, date(theirs))).toBe(30_000)
    expect(readRetryAfter(date(theirs + 30_000), NOW)).toBe(630_000)
    expect(readRetryAfter(date(theirs - 1000), NOW, date(theirs))).toBe(0)
    expect(readRetryAfter(date(theirs + 30_000), NOW, 'yesterday')).toBe(630_000)
    // Seconds need no clock.
    expect(readRetryAfter('7', NOW, date(theirs))).toBe(7000)
  })

  test('a year is no wish but a mistake: never more than a day', () => {
    expect(readRetryAfter(date(NOW + 365 * 86_400_000), NOW)).toBe(86_400_000)
  })
})

describe('HTTP dates', () => {
  test.each([
    ['Fri, 30 Jun 2017 23:59:60 GMT', Date.UTC(2017, 6, 1)],
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
    ['Sat, 31 Dec 2016 23:59:61 GMT', undefined],
    ['Sat, 31 Dec 2016 23:58:60 GMT', undefined],
    ['Sat, 31 Dec 2016 22:59:60 GMT', undefined],
    ['Wed, 32 Oct 2026 23:59:60 GMT', undefined],
    ['Wed, 32 Oct 2026 07:28:60 GMT', undefined],
    ['Wed, 00 Oct 2026 23:59:60 GMT', undefined],
    ['Wed, 00 Oct 2026 07:28:00 GMT', undefined],
    ['Wed, 31 Sep 2026 07:28:00 GMT', undefined],
  ])('%s: a leap second ends a day, and a day is one of its month', (text, at) => {
    expect(readHttpDate(text, NOW)).toBe(at)
  })

  const at = Date.UTC(1994, 10, 6, 8, 49, 37)

  test.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
    '%s',
    (text) => {
      expect(readHttpDate(text, Date.UTC(2020, 0))).toBe(at)
    },
  )

  test('two digits of a year are never more than fifty years ahead', () => {
    expect(readHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(2050, 0))).toBe(Date.UTC(2094, 10, 6, 8, 49, 37))
    expect(readHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(2026, 0))).toBe(at)
  })

  test('29 February only where there is one', () => {
    expect(readHttpDate('Thu, 29 Feb 2024 00:00:00 GMT', NOW)).toBe(Date.UTC(2024, 1, 29))
    expect(readHttpDate('Sun, 29 Feb 2026 00:00:00 GMT', NOW)).toBeUndefined()
  })
})

test.each([
  [0, undefined],
  [-1, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  [1, '1'],
  [1000, '1'],
  [1001, '2'],
])('%d ms are written as %s', (ms, text) => {
  expect(writeRetryAfter(ms)).toBe(text)
})
