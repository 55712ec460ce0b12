// The throttles of other projects, as replicas that replay their recordings. They stand beside their tests, in TypeScript, which Node 20 does
// not read: types are taken off, and what is left imports nothing.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const folder = new URL('../../packages/floodwall/test/compat/', import.meta.url)

/** What the file exports. `path` is below test/compat. */
export async function replica(path) {
  const { transformWithOxc } = await import('vite')
  const file = new URL(path, folder)
  const { code } = await transformWithOxc(await readFile(file, 'utf8'), fileURLToPath(file), { target: 'es2022' })
  return import(`data:text/javascript,${encodeURIComponent(code)}`)
}
