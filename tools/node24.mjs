// Runs the test suite on Node 24, whichever Node is installed: `node tools/node24.mjs [vitest arguments]`, after a build.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { env, root } from './lib/repository.mjs'

const VERSION = '24.21.0'

// The package `node` only fetches one of these from an install script, and npm may be told not to run scripts.
const NAME = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const home = join(root, 'node_modules/.cache/node24')
const node = join(home, 'node_modules', NAME, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

function installed() {
  return existsSync(node) && spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() === `v${VERSION}`
}

if (!installed()) {
  // Outside the lock, because only this command needs its 100 MB.
  const args = [
    'install',
    '--prefix',
    home,
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ]
  const { status } = spawnSync('npm', [...args, `${NAME}@${VERSION}`], { cwd: root, stdio: 'inherit' })
  if (status !== 0 || !installed()) {
    console.error(`cannot install ${NAME}@${VERSION} from the npm registry`)
    process.exit(1)
  }
}

console.log(`Node ${VERSION}`)
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(node, [vitest, 'run', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  // First in PATH, so that a test's `node` is this one too.
  env: { ...env, PATH: dirname(node) + delimiter + env.PATH },
})
process.exit(status ?? 1)
