import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { admin } from 'floodwall/admin'
import { hotCache, localBroadcast, localTable } from 'floodwall/caches'
import { expect, test } from 'vitest'
import { page } from '../docs/pages.ts'
import { TOKEN } from './office.ts'

// What the page shows for a shell, line for line, with the shell and curl of this machine.

const [, script = ''] = /```sh\n([^]*?)```/.exec(page('docs/admin.md').text) ?? []
const lines = script.split('\n').filter((line) => line !== '')

test('the lines of docs/admin.md do what they say', async () => {
  const broadcast = localBroadcast()
  const items = hotCache<string, string>({ load: (id) => id, ttl: '10s', name: 'items', broadcast })
  const rates = localTable<string, number>({ load: () => [['EUR', 1]], every: '1h', name: 'rates', broadcast })
  await rates.ready
  const operators = admin({ token: TOKEN, caches: { items }, tables: { rates } })
  const address = await operators.listen({ port: 0 })
  const cwd = mkdtempSync(join(tmpdir(), 'fw-'))
  const env = { ...process.env, TOKEN }
  const said: string[] = []
  for (const line of lines) {
    const here = line.replace('http://127.0.0.1:9091', address).replace(/^curl /, 'curl -sS --fail --noproxy "*" ')
    said.push((await promisify(execFile)('sh', ['-c', here], { cwd, env })).stdout)
  }
  expect(statSync(join(cwd, 'operator')).mode & 0o077).toBe(0)
  const [silent, ...answers] = said
  expect([silent, answers.map((text) => JSON.parse(text) as unknown)]).toMatchObject([
    '',
    [
      { caches: { items: { kind: 'hotCache' } }, tables: { rates: { version: 1 } } },
      { kind: 'hotCache', warmUps: [] },
      { state: 'done', warmed: 2, broadcast: { said: 1 } },
      { forgotten: 1 },
      { stopped: 0 },
      { version: 2, broadcast: { said: 1 } },
    ],
  ])
  await operators.close()
  rates.close()
  items.close()
  rmSync(cwd, { recursive: true })
})
