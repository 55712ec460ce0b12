// npm run bench -- SUITE [options]
import { spawnSync } from 'node:child_process'
import { overruns } from './budgets.mjs'
import { markdown, table, writeJson } from './lib/report.mjs'
import { help, parse, UsageError } from './lib/usage.mjs'
import { bbr } from './suites/bbr.mjs'
import { cluster } from './suites/cluster.mjs'
import { gateway } from './suites/gateway.mjs'
import { gatewayMemory } from './suites/gateway-memory.mjs'
import { hot } from './suites/hot.mjs'
import { idle } from './suites/idle.mjs'
import { limits } from './suites/limits.mjs'
import { overload } from './suites/overload.mjs'
import { retry } from './suites/retry.mjs'
import { simulator } from './suites/simulator.mjs'
import { throttle } from './suites/throttle.mjs'
import { trips } from './suites/trips.mjs'

const suites = [hot, idle, gateway, gatewayMemory, cluster, simulator, throttle, trips, retry, bbr, overload, limits]

async function main(argv) {
  const options = parse(argv, suites)
  const { suite } = options
  if (options.help || suite === undefined) return process.stdout.write(help(suites))

  const names = suite.names.filter((name) => options.only === undefined || name.includes(options.only))
  if (names.length === 0) throw new UsageError(`--only: no row of '${suite.name}' contains '${options.only}'`)
  const node = versionOf(options.node)

  const started = Date.now()
  const rows = await suite.run(names, options, (what) => {
    process.stderr.write(`[${((Date.now() - started) / 1000).toFixed(0).padStart(4)} s] ${what}\n`)
  })
  // A suite of several tables shows and writes its rows itself.
  const { show = oneTable(suite), writeJson: write = writeJson } = suite
  process.stdout.write(show(rows, options.markdown))
  process.stdout.write(`\nsuite ${suite.name}, Node ${node}\n`)
  if (options.json !== undefined) write(options.json, suite.name, node, rows)
  const { overruns: over = overruns } = suite
  if (options.check && rows.some((row) => over(row).length > 0)) process.exitCode = 1
}

function oneTable({ columns, markdown: shorter }) {
  return (rows, asMarkdown) => (asMarkdown ? markdown(rows, shorter) : table(rows, columns))
}

function versionOf(node) {
  const { stdout, status } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  if (status !== 0 || !/^v\d+\./.test(stdout)) throw new UsageError(`--node: ${node} is no node binary`)
  return stdout.trim().slice(1)
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`bench: ${error instanceof UsageError ? `${error.message}\n(see --help)` : error.message}\n`)
  process.exit(error instanceof UsageError ? 2 : 1)
})
