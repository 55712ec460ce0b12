import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { accessLogOptions } from '../../packages/cli/src/gateway/config/access-log-options.ts'
import { gatewayOptions } from '../../packages/cli/src/gateway/config/config.ts'
import { limitOptions } from '../../packages/cli/src/gateway/config/limits.ts'
import { routeOptions } from '../../packages/cli/src/gateway/config/route-options.ts'
import { tlsOptions, upstreamTlsOptions } from '../../packages/cli/src/gateway/config/tls-options.ts'

// The gateway's page has the settings of the gateway.

const page = readFileSync(fileURLToPath(new URL('../../docs/gateway.md', import.meta.url)), 'utf8')

/** The rows of the table that begins with `head`: name and default. */
function rowsUnder(head: string): (readonly [string, string])[] {
  const [, rest = ''] = page.split(head)
  const [table = ''] = rest.split('\n\n')
  return [...table.matchAll(/^\| `(\w+)` \| ([^|]*) \|/gm)].map(([, name = '', said = '']) => [name, said])
}

function fieldsOf({ entries }: { readonly entries: object }): [string, string | undefined][] {
  return Object.entries(entries).map(([name, { default: usual }]: [string, { default?: unknown }]) => [
    name,
    typeof usual === 'object' || usual === undefined ? undefined : `\`${JSON.stringify(usual).replaceAll('"', '')}\``,
  ])
}

test.each([
  ['the limits', '| limit | default | meaning |', limitOptions],
  ['routes', '| in a route | default | meaning |', routeOptions],
  ['the access log', '| in `accessLog` | default | meaning |', accessLogOptions],
  ['TLS towards clients', '| in `tls` | default | meaning |', tlsOptions],
  ['TLS towards servers', '| in `upstreamTls`, or in `tls` of a cluster | default | meaning |', upstreamTlsOptions],
])('the table of %s names the fields of the schema with their defaults', (_what, head, schema) => {
  const rows = rowsUnder(head)
  const fields = fieldsOf(schema)
  expect(rows.map(([name]) => name)).toEqual(fields.map(([name]) => name))
  for (const [i, [name, usual]] of fields.entries()) {
    if (usual !== undefined) expect([name, rows[i]?.[1]]).toEqual([name, usual])
    // Words, for what has no default that could be written down.
    else expect([name, rows[i]?.[1]]).not.toEqual([name, expect.stringContaining('`')])
  }
})

test('the table of settings names those of the top level', () => {
  const [, rest = ''] = page.split('| setting | option | default | meaning |')
  const named = [...(rest.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(Object.keys(gatewayOptions.entries)))
})

test('the table of figures names those that there are', () => {
  const gateway = new URL('../../packages/cli/src/gateway/', import.meta.url)
  const files = ['admin/metrics.ts', 'routes/bandwidth-figures.ts']
  const source = files.map((file) => readFileSync(fileURLToPath(new URL(file, gateway)), 'utf8')).join('\n')
  const namesIn = (text: string): string[] => [...new Set(text.match(/floodwall_[a-z_]+/g))].sort()
  const [, figures = ''] = page.split('### Figures')
  expect(namesIn(figures)).toEqual(namesIn(source))
})
