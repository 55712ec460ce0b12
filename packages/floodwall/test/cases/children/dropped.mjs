// 100,000 pipelines made, used once and dropped without close(): the heap must not remember them. Run with --expose-gc.
import { breaker, bulkhead, deadline, gate, pipeline, queue, retry, Semaphore, timeout } from 'floodwall'

const shared = new Semaphore({ slots: 1000 })
const { signal } = new AbortController()
const small = [breaker(), gate(shared), timeout({ after: '20s' })]
const whole = [deadline({ within: '30s' }), retry(), queue(), bulkhead({ slots: 3 }), ...small]

async function made(count) {
  for (let i = 0; i < count; i++) {
    const p = pipeline(`p${i}`, i % 20 === 0 ? whole : small)
    p.on(() => {})
    await p.call(() => 1, { signal, within: 60_000 })
  }
  await new Promise((resolve) => setImmediate(resolve))
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed / 2 ** 20
}

await made(5000)
const first = await made(20_000)
const growth = []
for (let round = 0; round < 4; round++) growth.push((await made(20_000)) - first)
console.log(
  JSON.stringify({
    megabytes: Math.max(...growth),
    shared: shared.inspect(0),
    timers: process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length,
  }),
)
