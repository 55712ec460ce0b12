import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, UsageError } from '../lib/usage.mjs'
import { contenders } from '../overload/loopback/contenders.mjs'
import { storm, sumUp } from '../overload/loopback/metastable.mjs'
import { overruns } from '../overload/loopback/rows.mjs'
import { calibrate } from '../overload/loopback/staircase.mjs'
import { overload } from '../suites/overload.mjs'

// node --test bench/test: needs the build, and half a minute.

await test('a storm of retries: without floodwall it goes on when its cause has gone, with it it ends', async () => {
  const perMs = await calibrate(process.execPath)
  const what = (contender) => ({ contender, handler: 'pool of 4, 80 ms', perMs, node: process.execPath })
  const bare = await storm(what('nothing'), 'nothing', { afterS: 8 })
  const guarded = await storm(what('floodwall'), 'nothing', { afterS: 8 })
  const text = (/** @type {{ success: number[] }} */ { success }) =>
    success.map((share) => Math.round(share * 100)).join(' ')
  console.log(`nothing   ${text(bare)}\nfloodwall ${text(guarded)}`)
  // The sign alone, and of work that waits: how many seconds it takes is for a machine that has nothing else to do, and what computes may come back by
  // itself on a machine where clients are as late as the server.
  assert.ok(guarded.after > bare.after, `${guarded.after} of the calls after it, without floodwall ${bare.after}`)
})

await test('back is from when on all seconds are good', () => {
  const second = (share) => ({ wanted: 100, done: share * 100, tried: 100 })
  const seconds = (...after) => [1, 1, 1, 0, 0, 0, ...after].map(second)
  assert.equal(sumUp(seconds(0, 0.5, 1, 1)).backS, 2)
  assert.equal(sumUp(seconds(1, 1, 1, 0.94)).backS, null)
  assert.equal(sumUp(seconds(0.95, 1)).backS, 0)
  assert.equal(sumUp(seconds(0.5, 1)).after, 0.75)
})

await test('every contender stands beside one without a guard on its framework', () => {
  for (const { name, bare } of contenders) {
    const found = contenders.find((other) => other.name === bare)
    assert.equal(found?.bare, bare, name)
  }
})

await test('ours has goals, others have none', () => {
  const step = (load, ofBound, goodput) => ({ load, ofBound, goodput })
  const row = (contender, handler, steps) => ({ part: 'stairs', contender, handler, steps })
  const poor = [step(0.8, 0.5, 0.5), step(1.5, 0.96, 0.96), step(10, 0.98, 0.94)]
  assert.deepEqual(overruns(row('nothing', '5 ms', poor)), [])
  assert.deepEqual(overruns(row('floodwall', '5 ms', poor)), ['1.5x', '10x of the peak'])
  assert.deepEqual(overruns(row('floodwall, fastify', '1 ms', poor)), ['1.5x'])
  assert.deepEqual(overruns({ part: 'storm', contender: 'floodwall', backS: 6 }), ['back'])
  assert.deepEqual(overruns({ part: 'storm', contender: 'nothing', backS: null }), [])
})

await test('takes --quick, and names no row twice', () => {
  const { suite, quick } = parse(['overload', '--quick'], [overload])
  assert.deepEqual([suite, quick], [overload, true])
  assert.throws(() => parse(['overload', '--quik'], [overload]), UsageError)
  assert.equal(new Set(overload.names).size, overload.names.length)
})
