import fc from 'fast-check'
import { showMs, toMs } from 'floodwall'
import { describe, expect, test } from 'vitest'

describe('toMs', () => {
  test.each([
    [0, 0],
    [250, 250],
    [0.5, 0.5],
    ['0ms', 0],
    ['250ms', 250],
    ['1.5s', 1500],
    ['2m', 120_000],
    ['3h', 10_800_000],
    ['30d', 2_592_000_000],
    ['500us', 0.5],
    ['999999999999ms', 999_999_999_999],
    ['0.000001s', 0.001],
  ])('%s is %d ms', (span, ms) => {
    expect(toMs(span)).toBe(ms)
  })

  test.each([
    -1,
    -0.001,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    '5',
    's',
    '5 s',
    ' 5s',
    '5s ',
    '-5s',
    '+5s',
    '1e3s',
    '.5s',
    '5.s',
    '5S',
    '5sec',
    '5.s',
    '1,5s',
    '0x10ms',
    'Infinityms',
    'NaNs',
    '9999999999999ms',
    '1.1234567s',
    '5s5s',
    '٥s',
    null,
    undefined,
    true,
    {},
    [],
    [5],
    5n,
    Symbol('5s'),
    () => 5,
    new Date(5),
    Object(5),
  ])('%s is no span', (span) => {
    expect(toMs(span)).toBeNaN()
  })

  test('an integer with a unit is exact', () => {
    const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[])), (n, unit) => {
        expect(toMs(`${n}${unit}`)).toBe(n * units[unit])
      }),
      { seed: 7, numRuns: 500 },
    )
  })
})

test.each([
  [0, '0ms'],
  [0.5, '0.5ms'],
  [99.96, '100ms'],
  [250, '250ms'],
  [999.4, '999ms'],
  [1000, '1s'],
  [1500, '1.5s'],
  [61_000, '61s'],
  [120_000, '2m'],
  [7_200_000, '2h'],
  [172_800_000, '2d'],
  [2_592_000_000, '30d'],
  [Number.POSITIVE_INFINITY, 'for ever'],
  [Number.NaN, 'for ever'],
])('%d ms reads as %s', (ms, text) => {
  expect(showMs(ms)).toBe(text)
})
