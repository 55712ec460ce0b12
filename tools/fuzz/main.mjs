// npm run fuzz -- [options], see --help.
import { caseOf } from './cases.mjs'
import { startGateway } from './gateway.mjs'
import { Growth, WARM_CONNECTIONS } from './growth.mjs'
import { Ledger } from './ledger.mjs'
import { asked, HELP, UsageError } from './options.mjs'
import { fuzz } from './run.mjs'
import { told, witnessTo } from './witness.mjs'

const SHOW_EVERY_MS = 5000
const MOST_FINDINGS = 20
/** A signal that comes again sooner is the same one: the terminal sends it, and npm once more. */
const ECHO_MS = 1000

/** @typedef {import('./options.mjs').Asked} Asked */

let stoppedAt = Number.POSITIVE_INFINITY
const stopped = () => stoppedAt !== Number.POSITIVE_INFINITY

/**
 * One seed.
 *
 * @param {number} seed
 * @param {Asked} options
 * @returns {Promise<number>} how many findings
 */
async function run(seed, { seconds, connections, only, bin }) {
  const ledger = new Ledger(seed)
  const growth = new Growth()
  /** @type {Awaited<ReturnType<typeof startGateway>> | undefined} */
  let gateway
  let shown = 0
  const showFindings = () => {
    for (const { kind, text, case: number } of ledger.findings.slice(shown)) {
      const again = number === undefined || number === only ? '' : `\n  npm run fuzz -- --seed ${seed} --case ${number}`
      console.log(`${kind}: ${text}${again}`)
    }
    shown = ledger.findings.length
  }
  const counts = () => {
    const { cases, requests, answers, findings } = ledger
    return `${cases} connections, ${requests} requests passed on, ${answers} answers, ${findings.length} findings`
  }
  const timer = setInterval(() => {
    const held = gateway?.held()
    console.log(`${counts()}${held === undefined ? '' : ` · ${held.fds} descriptors, ${held.rssMiB.toFixed(0)} MiB`}`)
    showFindings()
  }, SHOW_EVERY_MS)

  const endAt = performance.now() + seconds * 1000
  const done = () => (connections === undefined ? performance.now() >= endAt : ledger.cases >= connections)
  if (only !== undefined) console.log(told(caseOf(seed, only)))
  try {
    await fuzz({
      seed,
      only,
      ledger,
      enough: () => stopped() || ledger.findings.length >= MOST_FINDINGS || (only === undefined && done()),
      async target(port) {
        gateway = await startGateway(port, { bin })
        console.log(`seed ${seed}: the gateway is process ${gateway.pid}, port ${gateway.port}`)
        return gateway
      },
      witness: only === undefined ? undefined : witnessTo((text) => console.log(text)),
      rest:
        only === undefined ? { after: WARM_CONNECTIONS, look: () => growth.look(() => gateway?.held()) } : undefined,
    })
  } finally {
    clearInterval(timer)
  }
  for (const leak of growth.leaks) ledger.found('leak', leak)
  if (growth.summary !== '') console.log(growth.summary)
  showFindings()
  console.log(`seed ${seed}: ${counts()}`)
  return ledger.findings.length
}

async function main() {
  const options = asked(process.argv.slice(2))
  if (options.help) return console.log(HELP)
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => {
      const now = performance.now()
      if (!stopped()) stoppedAt = now
      else if (now - stoppedAt > ECHO_MS) process.exit(1)
    })
  }
  for (const seed of options.seeds) {
    if ((await run(seed, options)) > 0) process.exitCode = 1
    if (stopped()) return
  }
}

main().catch((error) => {
  console.error(error instanceof UsageError ? `${error.message}\n\n${HELP}` : error.message)
  process.exitCode = 2
})
