// One row in one fresh process, so that no row warms, pollutes or de-optimises another.
// node child.mjs '{"row": NAME, "what": "time" | "exact", "rounds": N, "floodwall": FILE}'
import { bytesPerOp } from '../method/bytes.mjs'
import { lastSeen, shapes } from '../method/loops.mjs'
import { compare } from '../method/rounds.mjs'
import { turnsOf } from '../method/turns.mjs'
import { floodwall } from './floodwall.mjs'
import { rows } from './rows.mjs'

const order = JSON.parse(process.argv[2])
const row = rows.find(({ name }) => name === order.row)
const shape = shapes[row.shape]
const op = await row.make(() => floodwall(order.floodwall))
const loop = shape.loop(op)
const answer = order.what === 'time' ? await compare(shape.bare, loop, order.rounds) : await exact()
process.stdout.write(JSON.stringify(answer))
process.exit(lastSeen() === order ? 1 : 0) // peers keep timers: do not wait for them

async function exact() {
  const bytes = await bytesPerOp(loop)
  const bare = await bytesPerOp(shape.bareBytes)
  return {
    bytesPerOp: bytes === undefined || bare === undefined ? null : Math.max(0, bytes - bare),
    turns: shape.bareCall === undefined ? 0 : (await turnsOf(op)) - (await turnsOf(shape.bareCall)),
  }
}
