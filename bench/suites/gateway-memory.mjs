// What the gateway keeps in memory for clients who take their time: a long answer through a slow reader, a long upload into
// a slow upstream, thousands of connections on which nothing is asked. A process for each figure: what one leaves behind
// would be room for the next.
import { fileURLToPath } from 'node:url'
import { contenders, yardstick } from '../gateway/contenders.mjs'
import { onCore } from '../gateway/cores.mjs'
import { assertLinux } from '../gateway/cpu.mjs'
import { connectionsUnder, openFilesLimit } from '../gateway/memory/descriptors.mjs'
import { growthOf } from '../gateway/memory/growth.mjs'
import { holdIdle } from '../gateway/memory/idle.mjs'
import { freePort, serve } from '../gateway/servers.mjs'
import { ask } from '../lib/children.mjs'
import { temporaryFolder } from '../lib/folders.mjs'
import { medianRun, spread } from '../lib/numbers.mjs'
import { budgetColumns } from '../lib/report.mjs'

const MB = 1024 * 1024
const BYTES = 200 * MB
const WARM_BYTES = 10 * MB
const SECONDS = 40
const CONNECTIONS = 10_000

const file = (path) => fileURLToPath(new URL(`../gateway/memory/${path}`, import.meta.url))
const named = (wanted) => contenders.find(({ name }) => name === wanted)

const download = (server, bytes, bytesPerSecond) => transfer(server, 'reader.mjs', { bytes, bytesPerSecond })
const upload = (server, bytes) => transfer(server, 'sender.mjs', { bytes }) // the origin reads slowly

const whole = [
  { row: 'slow reader', run: slowly(download) },
  { row: 'slow upstream', run: slowly(upload) },
  { row: 'idle connections', run: idleConnections },
]
const subjects = [
  { prefix: '', contender: named('floodwall gateway, everything on') },
  { prefix: 'bare proxy: ', contender: patient(named(yardstick)) },
]
const rows = subjects.flatMap(({ prefix, contender }) =>
  whole.map(({ row, run }) => ({ name: prefix + row, contender, run })),
)

/** Its 30 s to the head begin before the upload does. */
function patient({ name, args }) {
  return { name, args: (at) => [...args(at), 600_000] }
}

const megabytes = (bytes) => (bytes / MB).toFixed(1)
const columns = [
  ['row', (row) => row.name],
  ['growth MB', (row) => megabytes(row.growthBytes)],
  ['connections', (row) => String(row.connections)],
  ['bytes each', (row) => (row.bytesPerOp === null ? '-' : row.bytesPerOp.toFixed(0))],
  ['spread', (row) => `${(row.spread * 100).toFixed(0)}%`],
  ...budgetColumns,
]

export const gatewayMemory = {
  name: 'gateway-memory',
  about: 'memory of the gateway: 200 MB to a slow reader and to a slow upstream, 10,000 idle connections (Linux)',
  columns: [
    ...columns.slice(0, 1),
    ['before MB', (row) => megabytes(row.beforeBytes)],
    ['seconds', (row) => row.seconds.toFixed(0)],
    ...columns.slice(1),
  ],
  markdown: columns,
  names: rows.map(({ name }) => name),

  async run(names, { node, processes = 1, seconds = SECONDS }, progress) {
    assertLinux('gateway-memory')
    const found = []
    for (const { name, contender, run } of rows.filter((row) => names.includes(row.name))) {
      const runs = []
      for (let i = 1; i <= processes; i++) {
        progress(processes === 1 ? name : `${name}, process ${i} of ${processes}`)
        runs.push(await withServers(contender, node, BYTES / seconds, (server) => run(server, seconds, progress)))
      }
      const middle = medianRun(runs, 'growthBytes')
      const noTime = { nsPerOp: null, bareNsPerOp: null, ratio: null, turns: null }
      found.push({ name, ...noTime, ...middle, spread: spread(runs.map(({ growthBytes }) => growthBytes)) })
    }
    return found
  },
}

async function withServers(contender, node, bytesPerSecond, measure) {
  const servers = []
  try {
    const [port, spare, originPort] = [await freePort(), await freePort(), await freePort()]
    const origin = [file('origin.mjs'), originPort, bytesPerSecond]
    servers.push(await serve('origin', node, origin, { core: 1, port: originPort }))
    const at = { port, spare, upstream: `http://127.0.0.1:${originPort}`, folder: temporaryFolder() }
    const server = await serve(contender.name, node, contender.args(at), { core: 0, port })
    servers.push(server)
    return await measure({ name: contender.name, port, pid: server.pid, node })
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** 200 MB one way, in so many seconds; a short transfer before them brings what every process needs once. */
function slowly(send) {
  return async (server, seconds) => {
    const bytesPerSecond = BYTES / seconds
    await send(server, WARM_BYTES, bytesPerSecond)
    const start = performance.now()
    const growth = await growthOf(server.pid, () => send(server, BYTES, bytesPerSecond))
    return { ...growth, connections: 1, bytesPerOp: null, seconds: (performance.now() - start) / 1000 }
  }
}

async function transfer({ name, port, node }, script, order) {
  const [command, args] = onCore(1, node, [file(script), JSON.stringify({ port, ...order })])
  const withinMs = 600_000
  return ask(command, args, { name: `${script} at ${name}`, withinMs })
}

async function idleConnections(server, _seconds, progress) {
  const limit = openFilesLimit()
  const connections = connectionsUnder(limit, CONNECTIONS)
  if (connections < CONNECTIONS) {
    progress(`only ${connections} connections: no more than ${limit} files may be open (ulimit -n)`)
  }
  const start = performance.now()
  const growth = await holdIdle(server, connections, file('holder.mjs'))
  const seconds = (performance.now() - start) / 1000
  return { ...growth, connections, bytesPerOp: growth.growthBytes / connections, seconds }
}
