import { expect, test } from 'vitest'
import { lives } from './support/history.ts'

test.each([10, 15, 20, 30])(
  'without checks: isolated has an end, and all come back, lives of %i steps',
  (steps) => {
    expect(() => lives(false, 17_500, steps)).not.toThrow()
  },
  600_000,
)
