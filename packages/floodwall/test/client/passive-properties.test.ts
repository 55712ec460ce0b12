import { expect, test } from 'vitest'
import { lives } from './support/history.ts'

test.each([10, 20, 30])(
  'without checks: isolated has an end, and all come back, lives of %i steps',
  (steps) => {
    expect(() => lives(false, 20_000, steps)).not.toThrow()
  },
  120_000,
)
