import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { overruns, verdict, wanted } from '../budgets.mjs'
import { draws, roll, texts } from '../limits/keys.mjs'
import { bytesPerKey, longestPause } from '../limits/memory.mjs'
import { stream } from '../limits/pace.mjs'
import { rows } from '../limits/rows.mjs'
import { limits } from '../suites/limits.mjs'

// node --test bench/test/limits.test.mjs: needs the build.

setFlagsFromString('--expose-gc')
globalThis.gc = runInNewContext('gc')

const entry = import.meta.resolve('floodwall')
const library = (/** @type {string} */ path) => import(new URL(path, entry).href)
const { seeded } = await library('testing/index.js')
const rowOf = (name) => rows.find((row) => row.name === name)

await test('names no row twice, and every budget of a limit has its row', () => {
  assert.equal(new Set(limits.names).size, limits.names.length)
  const budgeted = limits.names.filter((name) => wanted(name) !== '')
  assert.equal(budgeted.length, 10)
})

await test('the order is a power of two long, of keys that are there, and the same for the same seed', () => {
  for (const order of ['in turn', 'uniform', 'zipf']) {
    const drawn = draws(1000, order, seeded(1))
    assert.equal(drawn.length, 2048, order)
    assert.ok(
      drawn.every((at) => at >= 0 && at < 1000),
      order,
    )
    assert.deepEqual(drawn, draws(1000, order, seeded(1)), order)
  }
})

await test('zipf: the first of a thousand comes as often as 1 of 7.5, and the hot ones are no neighbours', () => {
  const counts = new Map()
  const drawn = draws(1000, 'zipf', seeded(1))
  for (const at of drawn) counts.set(at, (counts.get(at) ?? 0) + 1)
  const [first, second] = [...counts].sort(([, a], [, b]) => b - a)
  assert.ok(Math.abs(first[1] / drawn.length - 1 / 7.485) < 0.02, `${first[1]} of ${drawn.length}`)
  assert.ok(Math.abs(first[0] - second[0]) > 1)
})

await test('keys are told apart, also those of strangers, and can be cut from the roll', () => {
  const keys = [...texts(1000), ...texts(1000, 1000)]
  assert.equal(new Set(keys).size, 2000)
  const { text, length } = roll(keys)
  assert.equal(text.slice(7 * length, 8 * length), keys[7])
})

await test('every contender lets every call through, also the first of a key: what is timed is a yes', async () => {
  const decisions = rows.filter(({ part, count }) => ['one', 'keyed', 'other'].includes(part) && count <= 1000)
  for (const { name, contender, count } of decisions) {
    const decide = await contender.make(library, count)
    for (const key of texts(Math.min(10, count))) {
      for (let i = 0; i < 3; i++) {
        const answer = await decide(key)
        assert.ok(answer !== false && answer?.ok !== false, `${name}: ${key}`)
      }
    }
  }
})

await test('the stream of 100,000 a second has its rate, and keeps it when timers are late; that of a bucket in bursts does not', async () => {
  const exact = await stream('pace 100,000/s', library)
  assert.deepEqual([exact.grants, Math.round(exact.perSecond)], [100_000, 100_000])
  assert.ok(exact.deviationMs < 0.001, `${exact.deviationMs} ms`)
  const late = await stream('pace 100,000/s, late timers', library)
  assert.ok(late.deviation < 0.01 && late.deviationMs < 3, `${late.deviation}, ${late.deviationMs} ms`)
  const lossy = await stream('limiter: 100 per ms', library)
  assert.ok(lossy.deviation > 0.1, `${lossy.deviation}`)
})

await test('a key weighs less than one of a Map of objects, and pauses are found', {
  skip: globalThis.gc === undefined,
}, async () => {
  const { contender: ours } = rowOf('bytes, 10^5 keys: keyedRateLimit')
  const { contender: theirs } = rowOf('bytes, 10^5 keys: express-rate-limit')
  const [small, large] = [await bytesPerKey(ours, library, 20_000), await bytesPerKey(theirs, library, 20_000)]
  assert.ok(small.bytesPerOp > 8 && small.bytesPerOp < large.bytesPerOp, `${small.bytesPerOp}, ${large.bytesPerOp}`)
  for (const strangers of [false, true]) {
    const { pauseMs, nsPerOp } = await longestPause(ours, library, 20_000, strangers)
    assert.ok(pauseMs > 0 && nsPerOp > 0)
  }
})

await test('a budget is of what is added, and of the deviation of a rate', () => {
  const name = '10^5 keys: keyedRateLimit'
  assert.equal(verdict({ name, nsPerOp: 65, bareNsPerOp: 10 }), 'ok')
  assert.deepEqual(overruns({ name, nsPerOp: 75, bareNsPerOp: 10 }), ['added'])
  assert.deepEqual(overruns({ name: 'pace 100,000/s', deviation: 0.02 }), ['deviation'])
})
