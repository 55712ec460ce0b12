import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { configOf } from '../../packages/cli/src/gateway/config/config.ts'

// Settings that are shown are settings that work.

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'floodwall-docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const page = readFileSync(join(root, 'docs/gateway.md'), 'utf8')
// Those with certificates need the files that they name.
const shown = [...page.matchAll(/^```yaml\n(.*?)^```/gms)]
  .map(([, text = '']) => text)
  .filter((text) => !text.includes('.pem'))

test('the page shows some', () => {
  expect(shown.length).toBeGreaterThanOrEqual(3)
})

test.each(shown)('settings in the page: %s', (text) => {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  expect(() => configOf({ config: file })).not.toThrow()
})

test('the example', () => {
  const config = configOf({ config: join(root, 'examples/gateway.yaml') })
  expect(config.routes.map(({ id }) => id)).toEqual(['back-office', 'search', 'files', 'pictures', 'shop'])
  expect(config.clusters.find(({ name }) => name === 'search')?.targets).toMatchObject([{ base: '/shop' }])
})
