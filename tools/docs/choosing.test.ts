import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { table } from './choosing.mjs'

// The table of the page that says which breaker to take shows what they do now. When they do something else on purpose: print `table()`, read it, and
// read what the page says about it.

test('the table of figures is as the simulator has them', { timeout: 60_000 }, () => {
  const page = readFileSync(new URL('../../docs/choosing-a-breaker.md', import.meta.url), 'utf8')
  expect(page).toContain(table())
})
