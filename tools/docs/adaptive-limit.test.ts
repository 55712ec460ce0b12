import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { mildOverload, settling, tables } from './adaptive-limit.mjs'

// The tables of the page about adaptive limits show what they do now. When they do something else on purpose: print `tables()`, read it, and read what the
// page says about it.

test('the tables of figures are as the simulator has them', { timeout: 120_000 }, () => {
  const page = readFileSync(new URL('../../docs/adaptive-limit.md', import.meta.url), 'utf8')
  const { settling, mild } = tables()
  expect(page).toContain(settling)
  expect(page).toContain(mild)
})

describe('what the default promises', () => {
  test.each([1, 4, 32])(
    '%s workers: near them under twice the load, three times as slow and back, and nearly all is answered',
    { timeout: 60_000 },
    (workers) => {
      for (const phase of Object.values(settling({ workers, ms: 20 }, {}))) {
        expect(phase.limit).toBeGreaterThan(0.7 * workers)
        expect(phase.limit).toBeLessThan(workers + 2 * Math.sqrt(workers) + 3)
        expect(phase.goodput).toBeGreaterThan(0.9)
      }
    },
  )

  test('C13 ten minutes of mild overload: the limit of the first minute is that of the tenth', {
    timeout: 60_000,
  }, () => {
    const { early, late } = mildOverload({})
    expect(Math.abs(late.limit - early.limit) / early.limit).toBeLessThan(0.1)
    expect(late.limit).toBeLessThan(12)
  })
})
