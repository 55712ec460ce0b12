import { expect, test } from 'vitest'
import { fade } from '../../src/algorithms/stats/fade.ts'

test('what is left after a span: 1 at once, 37 % after one time constant, nothing in the end', () => {
  expect([fade(0), fade(1), fade(1e9)]).toEqual([1, Math.exp(-1), 0])
})

test('short spans by the series are the exponential, to four parts in 10^16, and it never rises', () => {
  let before = 1
  for (let i = 0; i <= 20_000; i++) {
    const x = i / 1_000_000
    expect(Math.abs(fade(x) - Math.exp(-x))).toBeLessThanOrEqual(4e-16)
    expect(fade(x)).toBeLessThanOrEqual(before)
    before = fade(x)
  }
})
