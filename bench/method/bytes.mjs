// Bytes per operation: the growth of the heap while nothing is collected. It needs a young generation that is larger
// than the sample and `gc`, so the process is started with `flags`.
import { PerformanceObserver, performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { median } from '../lib/numbers.mjs'

export const flags = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256']

const SAMPLES = 9
const WARM_MS = 600
const ROOM = 48 * 1024 * 1024
const MOST = 16_384

let collections = 0
const observer = new PerformanceObserver((list) => {
  collections += list.getEntries().length
})

/** Undefined if the collector ran in every sample. */
export async function bytesPerOp(loop) {
  // Compiled code allocates less than interpreted code, and what the compiler inlined last decides how much less.
  const warmAt = performance.now() + WARM_MS
  while (performance.now() < warmAt) await loop(8192)
  const n = Math.max(512, Math.min(MOST, Math.floor(ROOM / Math.max(1, (await growth(loop, 512)) ?? 1))))
  const samples = []
  for (let i = 0; i < SAMPLES; i++) {
    const bytes = await growth(loop, n)
    if (bytes !== undefined) samples.push(bytes)
  }
  return samples.length === 0 ? undefined : Math.max(0, median(samples))
}

async function growth(loop, n) {
  await pause(5)
  globalThis.gc()
  await pause(5) // the observer reports the collection above one turn later
  collections = 0
  observer.observe({ entryTypes: ['gc'] })
  const before = process.memoryUsage().heapUsed
  await loop(n)
  const after = process.memoryUsage().heapUsed
  await pause(5)
  observer.disconnect()
  return collections === 0 ? (after - before) / n : undefined
}

// The first observer makes its own structures; they must not fall into the first sample.
performance.mark('warm')
