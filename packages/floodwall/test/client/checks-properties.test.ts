import { expect, test } from 'vitest'
import { lives } from './support/history.ts'

// Nobody is isolated for good: brpc #1874, #3058, #709. A hundred thousand random lives in all, here and in passive-properties.test.ts, by
// seeds that are the same in every run.

test.each([10, 30])(
  'with checks: isolated is armed, and all come back, lives of %i steps',
  (steps) => {
    expect(() => lives(true, 15_000, steps)).not.toThrow()
  },
  600_000,
)
