// Connections that have asked once and are kept. Two processes hold them, so that neither comes near the limit of open files.
import { setTimeout as pause } from 'node:timers/promises'
import { Child } from '../../lib/children.mjs'
import { onCore } from '../cores.mjs'
import { residentBytes } from './growth.mjs'

const HOLDERS = 2
const WARM_CONNECTIONS = 500
const OPEN_WITHIN_MS = 60_000
const SETTLE_MS = 20_000

/** What the process at `pid` grew by when `connections` had come and it had been left alone for a while. */
export async function holdIdle({ port, pid, node }, connections, script) {
  const hold = (count) => holder(node, script, { port, connections: count })
  const warm = await hold(WARM_CONNECTIONS)
  await warm.stop()
  await pause(2000)
  const beforeBytes = residentBytes(pid)
  const holders = []
  try {
    for (let i = 0; i < HOLDERS; i++) {
      holders.push(await hold(Math.floor(((i + 1) * connections) / HOLDERS) - Math.floor((i * connections) / HOLDERS)))
    }
    await pause(SETTLE_MS)
    for (const { ended, said } of holders) if (ended) throw new Error(said)
    return { beforeBytes, growthBytes: residentBytes(pid) - beforeBytes }
  } finally {
    await Promise.all(holders.map((child) => child.stop()))
  }
}

/** A process that has opened all of its connections. */
async function holder(node, script, order) {
  const [command, args] = onCore(1, node, [script, JSON.stringify(order)])
  const child = new Child(command, args)
  const timer = setTimeout(() => child.process.kill('SIGKILL'), OPEN_WITHIN_MS)
  await new Promise((resolve) => {
    child.process.stdout.once('data', resolve)
    child.process.once('close', resolve)
  })
  clearTimeout(timer)
  if (child.ended) throw new Error(`${order.connections} connections could not be kept: ${child.said}`)
  return child
}
