// One row in one fresh process.
// node child.mjs '{"row": NAME, "rounds": N, "floodwall": FILE}'
import { floodwall } from '../../hot/floodwall.mjs'
import { lastSeen, shapes } from '../../method/loops.mjs'
import { compare } from '../../method/rounds.mjs'
import { rows } from './rows.mjs'

const order = JSON.parse(process.argv[2])
const row = rows.find(({ name }) => name === order.row)
const { loop, bare } = shapes[row.shape]
const op = await row.make(() => floodwall(order.floodwall))
const answer = await compare(bare, loop(op), order.rounds)
process.stdout.write(JSON.stringify(answer))
process.exit(lastSeen() === order ? 1 : 0)
