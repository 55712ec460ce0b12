// The loop stands still for a while: alarms set before are late, alarms set after must not be early.
import { deadline, pipeline, timeout } from 'floodwall'

const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
const p = pipeline('p', [deadline({ within: 2000 }), timeout({ after: 300 })])
const codes = []
const note = (promise) =>
  promise.then(
    (v) => codes.push(v),
    (error) => codes.push(error.code),
  )

const before = note(p.call(() => new Promise(() => {})))
await new Promise((resolve) => setImmediate(resolve))
block(500)
// Begun in the same turn as the block: 300 ms from now, not from then.
const after = note(p.call(() => new Promise((resolve) => setTimeout(resolve, 30, 'in time'))))
await Promise.all([before, after])
console.log(JSON.stringify(codes.toSorted((a, b) => a.localeCompare(b))))
