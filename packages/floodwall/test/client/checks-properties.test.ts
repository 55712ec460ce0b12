import fc from 'fast-check'
import { expect, test } from 'vitest'
import { History } from './support/history.ts'

// Nobody is isolated for good: brpc #1874, #3058, #709. A hundred thousand random lives in all, by seeds that are the same in every run.

const SEED = 20_240_607

function lives(active: boolean, runs: number, steps: number): void {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const history = new History(seed, active)
      history.live(steps)
      history.heal()
      history.end()
    }),
    { seed: SEED, numRuns: runs },
  )
}

test.each([1, 2, 3, 4])(
  'with checks: isolated is armed, and all come back (part %i)',
  (part) => {
    expect(() => lives(true, 20_000, 10 * part)).not.toThrow()
  },
  120_000,
)

test('without checks: isolated has an end, and all come back', () => {
  expect(() => lives(false, 20_000, 30)).not.toThrow()
}, 120_000)
