// All rows of the suite `limits`. A row is { name, part } and what its part needs: `one`, `keyed` and `other` are decisions, `bytes` what a key
// weighs, `pauses` for how long nobody else gets a turn, `pace` a steady stream.
import * as floors from './floors.mjs'
import { clockedRateLimit, hot, keyedGates, keyedRateLimit, single as ours } from './ours.mjs'
import { streams } from './pace.mjs'
import * as peers from './peers.mjs'

const counts = { '1 key': 1, '1000 keys': 1000, '10^5 keys': 100_000, '10^6 keys': 1_000_000 }
const [ONE, THOUSAND, MANY, MOST] = Object.keys(counts)
/** One of theirs for each key weighs 5 KB: at 10^5 keys it is out of the question. */
const FEW = '10^4 keys'

const keyed = [keyedRateLimit, keyedGates, floors.map, peers.flexible, peers.express, peers.fastify, peers.limiter]

/** `column` is where it stands in the table of its part. */
const timed = (contender, size, order = 'uniform', shape = contender.shape) => {
  const words = [size, ...(order === 'uniform' ? [] : [order]), ...(shape === 'fresh' ? ['fresh'] : [])]
  const column = words.join(', ')
  const name = `${column}: ${contender.name}`
  return { name, part: 'keyed', column, contender, count: counts[size], order, shape }
}

const single = (contender) => ({
  ...timed(contender, ONE),
  name: `one limit: ${contender.name}`,
  part: 'one',
})

const other = (contender, size, order) => {
  const row = timed(contender, size, order)
  return { ...row, name: `${contender.name}, ${row.column}`, part: 'other' }
}

const weighed = (contender, column, count = counts[column]) => {
  const name = `bytes, ${column}: ${contender.name}`
  return { name, part: 'bytes', column, contender, count }
}

const paused = (contender, column) => {
  const name = `pause, ${column}: ${contender.name}`
  return { name, part: 'pauses', column, contender, count: counts[MOST], strangers: column === 'strangers' }
}

/** @type {any[]} */
export const rows = [
  ...[...ours, floors.one, floors.permit, floors.clock, peers.limiter, peers.bottleneck].map(single),
  ...keyed.flatMap((contender) => [
    ...Object.keys(counts).map((size) => timed(contender, size)),
    timed(contender, MANY, 'in turn'),
    ...[THOUSAND, MANY, MOST].map((size) => timed(contender, size, 'zipf')),
  ]),
  ...Object.keys(counts).map((size) => timed(floors.mapPermit, size)),
  timed(floors.mapPermit, MANY, 'in turn'),
  timed(peers.bottleneck, THOUSAND),
  timed(clockedRateLimit, MANY),
  ...[keyedRateLimit, floors.map, floors.mapPermit].flatMap((contender) =>
    Object.keys(counts).map((size) => timed(contender, size, 'uniform', 'fresh')),
  ),
  ...keyed.flatMap((contender) => [MANY, MOST].map((size) => weighed(contender, size))),
  weighed(peers.bottleneck, FEW, 10_000),
  ...keyed.filter(({ name }) => name !== peers.limiter.name).map((contender) => paused(contender, 'growth')),
  // The others have no bound: strangers make them grow.
  ...[keyedRateLimit, keyedGates, peers.fastify].map((contender) => paused(contender, 'strangers')),
  ...streams.map(({ name }) => ({ name, part: 'pace' })),
  ...[hot.lru, hot.tinyLfu, hot.topK].flatMap((contender) => [
    other(contender, THOUSAND),
    other(contender, MANY, 'zipf'),
  ]),
  ...[hot.cache, hot.table].map((contender) => other(contender, THOUSAND)),
]
