// One row in one fresh process.
// node child.mjs '{"row": NAME, "rounds": N, "floodwall": FILE}'
import { floodwall } from '../hot/floodwall.mjs'
import { lastSeen, shapes } from '../method/loops.mjs'
import { compare } from '../method/rounds.mjs'
import { rows } from './rows.mjs'

const order = JSON.parse(process.argv[2])
const { shape, make } = rows.find(({ name }) => name === order.row)
const { loop, bare } = shapes[shape]
const op = await make(() => floodwall(order.floodwall))
process.stdout.write(JSON.stringify(await compare(bare, loop(op), order.rounds)))
process.exit(lastSeen() === order ? 1 : 0)
