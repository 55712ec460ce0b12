// What a key weighs, and for how long nobody else gets a turn while many come. The texts of the keys are there before, and are not counted.
import { performance } from 'node:perf_hooks'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { texts } from './keys.mjs'

const EVERY = 512
/** Keys of one look at the clocks: they cost 2 µs, and that many keys 20 or more. */
const BATCH = 128
/** What the first ones load and compile is not theirs. */
const FIRST = 2000

async function settle() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    await pause(20)
  }
}

/** `external` includes array buffers: adding them would count them twice. */
function occupied() {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function feed({ shape }, decide, keys) {
  for (let i = 0; i < keys.length; i++) {
    const answer = decide(keys[i])
    if (shape !== 'sync') await answer
    if (i % EVERY === 0) await turn()
  }
}

export async function bytesPerKey(contender, library, count) {
  const keys = texts(count)
  await feed(contender, await contender.make(library, FIRST), texts(FIRST, count))
  await settle()
  const before = occupied()
  const decide = await contender.make(library, count)
  await feed(contender, decide, keys)
  await settle()
  const bytesPerOp = (occupied() - before) / count
  // Both are alive until here.
  return { bytesPerOp: typeof decide === 'function' && keys.length === count ? bytesPerOp : null }
}

/** `strangers`: the table is full already, and holds no more than `count` keys. */
export async function longestPause(contender, library, count, strangers) {
  await feed(contender, await contender.make(library, FIRST), texts(FIRST, 2 * count))
  const decide = await contender.make(library, count)
  if (strangers) await feed(contender, decide, texts(count))
  const keys = texts(count, strangers ? count : 0)
  await settle()
  return batches(contender, decide, keys)
}

/** Of each batch the lesser of CPU time and time on the wall: the first has the collector's other threads in it, the second other processes. */
async function batches({ shape }, decide, keys) {
  let pauseMs = 0
  const began = process.cpuUsage()
  for (let from = 0; from < keys.length; from += BATCH) {
    const end = Math.min(keys.length, from + BATCH)
    const at = performance.now()
    const used = process.cpuUsage()
    for (let i = from; i < end; i++) {
      const answer = decide(keys[i])
      if (shape !== 'sync') await answer
    }
    const { user, system } = process.cpuUsage(used)
    pauseMs = Math.max(pauseMs, Math.min(performance.now() - at, (user + system) / 1000))
    if (from % EVERY === 0) await turn()
  }
  const { user, system } = process.cpuUsage(began)
  return { pauseMs, nsPerOp: ((user + system) * 1000) / keys.length }
}
