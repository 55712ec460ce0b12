import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../..', import.meta.url))

/** The environment in which the repository's own tools come first, also when a script was not started by npm. */
export const env = { ...process.env, PATH: join(root, 'node_modules/.bin') + delimiter + (process.env.PATH ?? '') }

/** Brings every dist up to date; does next to nothing when it already is. Leaves with the compiler's messages if it cannot. */
export function build() {
  const { status } = spawnSync('tsc', ['-b'], { cwd: root, env, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
