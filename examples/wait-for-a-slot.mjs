// Waiting for a slot, bounded by places and by time; who leaves the line takes nothing with him.
import { bulkhead, isRejected, pipeline, queue } from 'floodwall'

const printer = pipeline('printer', [queue({ size: 4, atMost: '150ms' }), bulkhead({ slots: 2 })])

const from = performance.now()
const since = () => `${String(Math.round((performance.now() - from) / 10) * 10).padStart(3)} ms`

async function print(name, init) {
  try {
    await printer.call(async () => {
      console.log(`${since()}  ${name} prints`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }, init)
  } catch (error) {
    console.log(`${since()}  ${name}: ${isRejected(error) ? error.message : error.name}`)
  }
}

const leaving = new AbortController()
const jobs = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) =>
  // c changes his mind; his place goes to the next.
  print(name, name === 'c' ? { signal: leaving.signal } : {}),
)
setTimeout(() => leaving.abort(), 30)
await Promise.all(jobs)

console.log(printer.inspect().layers)
