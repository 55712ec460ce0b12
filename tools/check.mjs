// Everything that can be known without running the suite: `npm run check`, or some steps of it: `npm run check -- lint format`.
import { spawnSync } from 'node:child_process'
import { env, root } from './lib/repository.mjs'

const FOLDERS = ['packages', 'tools', 'bench', 'examples']
const LIBRARY = 'packages/floodwall'

/** Of one command; what is wrong first is seldom further down. */
const MOST_LINES = 200

/** @type {Record<string, readonly string[]>} each step is a list of commands; all of them run, so one look shows all there is */
const STEPS = {
  build: ['tsc -b'],
  types: ['tsc -p tsconfig.check.json', 'tsc -p tools/tsconfig.json', 'tsc -p tsconfig.scripts.json'],
  // oxlint would walk into node_modules where no .gitignore stops it, so the folders are named.
  lint: [`oxlint --type-aware --deny-warnings -f unix ${FOLDERS.join(' ')}`],
  format: ['biome check --colors=off --max-diagnostics=100'],
  unused: ['knip'],
  imports: [`vitest run ${LIBRARY}/test/architecture.test.ts --reporter=dot`],
  exports: [`publint --strict ${LIBRARY}`, `attw --pack ${LIBRARY} --profile esm-only --no-emoji --no-color`],
}

const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !(name in STEPS))
if (unknown.length > 0) console.error(`no such step: ${unknown.join(', ')}; there are ${Object.keys(STEPS).join(', ')}`)

let failed = unknown.length
for (const [name, commands] of Object.entries(STEPS)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  const from = performance.now()
  const complaints = commands.map(complaint).filter((text) => text !== '')
  const seconds = ((performance.now() - from) / 1000).toFixed(1)
  console.log(`${complaints.length === 0 ? 'ok  ' : 'FAIL'}  ${name.padEnd(8)} ${seconds.padStart(5)} s`)
  if (complaints.length === 0) continue
  failed++
  console.log(`\n${complaints.join('\n')}`)
}
// Not exit(): it would cut off what a slow reader has not taken yet.
process.exitCode = failed === 0 ? 0 : 1

/**
 * Runs one command.
 *
 * @param {string} command
 * @returns {string} what it printed if it failed, '' if it did not
 */
function complaint(command) {
  const [file = '', ...args] = command.split(' ')
  const run = spawnSync(file, args, {
    cwd: root,
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (run.status === 0) return ''
  const lines = `> ${command}\n${run.error?.message ?? ''}${run.stdout ?? ''}${run.stderr ?? ''}`.split('\n')
  const more = lines.length > MOST_LINES ? [`... and ${lines.length - MOST_LINES} lines more`, ''] : []
  return [...lines.slice(0, MOST_LINES), ...more].join('\n')
}
