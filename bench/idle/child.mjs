// node --expose-gc child.mjs '{"row": NAME, "what": "bytes" | "timers", "count": N, "floodwall": FILE}'
import { createHook } from 'node:async_hooks'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { floodwall } from '../hot/floodwall.mjs'
import { rows } from './rows.mjs'

const WATCH_MS = 2000

const order = JSON.parse(process.argv[2])
const row = rows.find(({ name }) => name === order.row)
const make = await row.make(() => floodwall(order.floodwall))
for (let i = 0; i < 50; i++) await make(i) // what the first ones load and compile is not theirs

const kept = Array.from({ length: order.count }, () => null)
const answer = order.what === 'bytes' ? await bytes() : await timers()
process.stdout.write(JSON.stringify(answer))
process.exit(kept.includes(null) ? 1 : 0)

async function bytes() {
  await settle()
  const before = occupied()
  const start = performance.now()
  for (let i = 0; i < order.count; i++) kept[i] = await make(i)
  const nsPerOp = ((performance.now() - start) * 1e6) / order.count
  await settle()
  const bytesPerOp = (occupied() - before) / order.count
  const cpu = process.cpuUsage()
  await pause(WATCH_MS)
  const { user, system } = process.cpuUsage(cpu)
  return { nsPerOp, bytesPerOp, idleCpu: (user + system) / 1000 / WATCH_MS }
}

/** `external` includes array buffers: adding `arrayBuffers` would count them twice. */
function occupied() {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function settle() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc()
    await pause(20)
  }
}

/** In a process of its own: the hook costs memory. It sees unref'd timers too, which getActiveResourcesInfo() leaves out. */
async function timers() {
  const live = new Set()
  let watching = true
  const hook = createHook({
    init(id, type) {
      if (watching && (type === 'Timeout' || type === 'Immediate')) live.add(id)
    },
    destroy(id) {
      live.delete(id)
    },
  })
  await settle()
  hook.enable()
  for (let i = 0; i < order.count; i++) kept[i] = await make(i)
  await settle()
  watching = false // the waits below are ours
  await pause(50)
  await turn() // destroy hooks run a turn late
  hook.disable()
  const holding = process.getActiveResourcesInfo().filter((type) => type === 'Timeout' || type === 'Immediate').length
  return { timers: Math.max(live.size, holding) }
}
