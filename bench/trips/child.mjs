// One row with one kind of traffic, in one fresh process.
// node child.mjs '{"row": NAME, "traffic": NAME, "rounds": N, "floodwall": FILE}'
import { pathToFileURL } from 'node:url'
import { lastSeen, shapes } from '../method/loops.mjs'
import { compare } from '../method/rounds.mjs'
import { rows, traffic } from './rows.mjs'

const order = JSON.parse(process.argv[2])
const entry = order.floodwall === undefined ? import.meta.resolve('floodwall') : pathToFileURL(order.floodwall).href
/** Trips are no part of the front door. */
const library = (path) => import(new URL(path, entry).href)

const { loop, bare } = shapes.value
const op = await rows.find(({ name }) => name === order.row).make(library, traffic[order.traffic])
process.stdout.write(JSON.stringify(await compare(bare, loop(op), order.rounds)))
process.exit(lastSeen() === order ? 1 : 0)
