// One row in one fresh process: the same world, round after round.
// node child.mjs '{"row": NAME, "rounds": N, "floodwall": FILE}'
import { library } from '../cluster/library.mjs'
import { median } from '../lib/numbers.mjs'
import { rows } from './rows.mjs'

/** The first rounds compile. */
const WARM_ROUNDS = 2
/** Of virtual time: a hundred thousand calls and more. */
const SECONDS = 40

const { row: name, rounds, floodwall } = JSON.parse(process.argv[2])
const row = rows.find((one) => one.name === name)
const { part, ...rest } = await library(floodwall)
const loaded = { ...rest, ...(await part('simulator')) }

const found = []
const digests = new Set()
for (let i = 0; i < WARM_ROUNDS + rounds; i++) {
  const world = new loaded.World({ seed: 7 })
  row.furnish(loaded, world)
  const start = process.cpuUsage()
  const report = world.run(SECONDS * 1000)
  const { user, system } = process.cpuUsage(start)
  const calls = Object.values(report.clients).reduce((sum, { attempts }) => sum + attempts, 0)
  digests.add(report.digest)
  if (i >= WARM_ROUNDS) found.push(((user + system) * 1000) / calls)
}
if (digests.size > 1) throw new Error(`the same world had several histories: ${[...digests].join(', ')}`)
process.stdout.write(JSON.stringify({ nsPerOp: median(found), digest: [...digests][0] }))
