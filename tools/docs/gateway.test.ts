import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { limitOptions } from '../../packages/cli/src/gateway/config/limits.ts'

// The gateway's page has the limits of the gateway.

const page = readFileSync(fileURLToPath(new URL('../../docs/gateway.md', import.meta.url)), 'utf8')

test('the table of limits names the fields of the schema with their defaults', () => {
  const [, table = ''] = page.split('### Limits')
  const told = [...table.matchAll(/^\| `(\w+)` \| `(\w+)` \|/gm)].map(([, name, value]) => [name, value])
  const entries = Object.entries(limitOptions.entries as Readonly<Record<string, { readonly default: unknown }>>)
  expect(told).toEqual(entries.map(([name, entry]) => [name, String(entry.default)]))
})
