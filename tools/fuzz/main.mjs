// npm run fuzz -- [--seconds N | --connections N] [--seed N] [--case N]
// Ends with 0 when nothing was found, with 1 and the findings when something was, with 2 when it was asked for nonsense.
import { parseArgs } from 'node:util'
import { startGateway } from './gateway.mjs'
import { fuzz } from './run.mjs'

const HELP = `npm run fuzz -- [options]
Sends the gateway what hostile clients and broken servers would, byte by byte, and compares what each side believes the requests were.

  --seconds N       for so long (default: 60)
  --connections N   so many connections instead
  --seed N          other cases (default: 1); a seed and a number are a case, always the same
  --case N          only this one, with its bytes`

const fail = (message) => {
  console.error(message)
  process.exit(2)
}

function options() {
  const whole = (text, name) => (text === undefined || /^\d{1,9}$/.test(text) ? text && Number(text) : fail(`--${name}: expected a whole number, got ${text}`))
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: 'string' },
        connections: { type: 'string' },
        seed: { type: 'string' },
        case: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      console.log(HELP)
      process.exit(0)
    }
    return Object.fromEntries(['seconds', 'connections', 'seed', 'case'].map((name) => [name, whole(values[name], name)]))
  } catch (error) {
    return fail(`${error.message}\n\n${HELP}`)
  }
}

const { seconds = 60, connections, seed = 1, case: only } = options()
const endAt = performance.now() + seconds * 1000
let stopped = false
process.on('SIGINT', () => {
  stopped = true
})
const enough = ({ cases, findings }) =>
  stopped || findings.length >= 20 || (connections === undefined ? performance.now() >= endAt : cases >= connections)

/** Warm, so that what comes later is growth. */
const WARM = 3000
let first
let last
let shown = performance.now()
const progress = (ledger, gateway) => {
  if (ledger.cases === WARM) first = gateway.held()
  if (performance.now() - shown < 5000) return
  shown = performance.now()
  last = gateway.held()
  console.log(`${ledger.cases} connections, ${ledger.requests} requests passed on, ${ledger.answers} answers, ${ledger.findings.length} findings · ${last.fds} descriptors, ${last.rssMiB.toFixed(0)} MiB`)
}

let end
const target = async (port) => {
  const gateway = await startGateway(port)
  return {
    ...gateway,
    async settled(ledger) {
      await gateway.settled(ledger)
      end = gateway.held()
    },
  }
}
const ledger = await fuzz({ seed, enough, target, only, progress })
if (first !== undefined && end !== undefined) {
  console.log(`descriptors ${first.fds} after ${WARM} connections, ${end.fds} at the end; memory ${first.rssMiB.toFixed(0)} and ${end.rssMiB.toFixed(0)} MiB`)
  if (end.fds > first.fds) ledger.found('leak', `${end.fds - first.fds} descriptors more than after ${WARM} connections`)
}
for (const { kind, text } of ledger.findings) console.log(`${kind}: ${text}`)
console.log(`seed ${seed}: ${ledger.cases} connections, ${ledger.requests} requests passed on, ${ledger.answers} answers, ${ledger.findings.length} findings`)
process.exit(ledger.findings.length === 0 ? 0 : 1)
