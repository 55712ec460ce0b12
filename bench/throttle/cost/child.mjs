// One row in one fresh process.
// node --expose-gc child.mjs '{"row": NAME, "rounds": N, "count": N, "floodwall": FILE}'
import { floodwall } from '../../hot/floodwall.mjs'
import { lastSeen, shapes } from '../../method/loops.mjs'
import { compare } from '../../method/rounds.mjs'
import { idleRows, rows } from './rows.mjs'

const order = JSON.parse(process.argv[2])
const named = ({ name }) => name === order.row
const load = () => floodwall(order.floodwall)
const row = rows.find(named)
process.stdout.write(JSON.stringify(row === undefined ? await bytes(idleRows.find(named)) : await time(row)))
process.exit(lastSeen() === order ? 1 : 0)

async function time({ shape, make }) {
  const { loop, bare } = shapes[shape]
  return compare(bare, loop(await make(load)), order.rounds)
}

async function bytes({ make }) {
  const one = await make(load)
  const kept = Array.from({ length: order.count }, () => null)
  for (let i = 0; i < 50; i++) one() // what the first ones compile is not theirs
  globalThis.gc()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < order.count; i++) kept[i] = one()
  globalThis.gc()
  const bytesPerOp = (process.memoryUsage().heapUsed - before) / order.count
  return { bytesPerOp: kept.includes(null) ? null : bytesPerOp }
}
