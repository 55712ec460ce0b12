// One row in one fresh process.
// node --expose-gc child.mjs '{"row": NAME, "rounds": N, "floodwall": FILE}'
import { pathToFileURL } from 'node:url'
import { median } from '../lib/numbers.mjs'
import { work } from '../method/loops.mjs'
import { compare } from '../method/rounds.mjs'
import { draws, roll, texts } from './keys.mjs'
import { lastSeen, shapes } from './loops.mjs'
import { bytesPerKey, longestPause } from './memory.mjs'
import { stream } from './pace.mjs'
import { rows } from './rows.mjs'

const CROWD = 128
const CROWDS = 7

const order = JSON.parse(process.argv[2])
const entry = order.floodwall === undefined ? import.meta.resolve('floodwall') : pathToFileURL(order.floodwall).href
/** Algorithms are no part of the front door. */
const library = (path) => import(new URL(path, entry).href)

const row = rows.find(({ name }) => name === order.row)
const { contender, count, strangers } = row
const measure = {
  one: time,
  keyed: time,
  other: time,
  bytes: () => bytesPerKey(contender, library, count),
  pauses: () => longestPause(contender, library, count, strangers),
  pace: () => stream(row.name, library),
}
process.stdout.write(JSON.stringify(await measure[row.part]()))
process.exit(lastSeen() === order ? 1 : 0) // peers keep timers: do not wait for them

async function time() {
  const { seeded } = await library('testing/index.js')
  const keys = texts(count)
  const calls = { keys, order: draws(count, row.order, seeded(1)), roll: roll(row.shape === 'fresh' ? keys : []) }
  const decide = await contender.make(library, count)
  if (row.shape === 'crowd') return inCrowds(decide, calls)
  // All have been here before.
  for (const key of keys) await decide(key)
  const { bare, loop } = shapes[row.shape]
  return compare(bare(calls), loop(decide, calls), order.rounds)
}

/** Who sets timers for each call would take minutes, one after the other: many at once, and a few times. */
async function inCrowds(decide, { keys, order }) {
  const round = async (op) => {
    const began = process.cpuUsage()
    for (let i = 0; i < CROWDS * CROWD; i += CROWD) {
      await Promise.all(Array.from({ length: CROWD }, (_, j) => op(keys[order[(i + j) % order.length]])))
    }
    const { user, system } = process.cpuUsage(began)
    return ((user + system) * 1000) / (CROWDS * CROWD)
  }
  const [bare, wrapped] = [[], []]
  for (let i = 0; i < CROWDS; i++) {
    bare.push(await round(work))
    wrapped.push(await round(decide))
  }
  const [bareNsPerOp, nsPerOp] = [median(bare), median(wrapped)]
  return { nsPerOp, bareNsPerOp, ratio: nsPerOp / bareNsPerOp, noisy: false }
}
