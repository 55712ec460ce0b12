// node record-queue-delay.mjs FILE: writes what a real event loop showed the queue delay, and how long each request had really waited.
//
// It runs on the build (`npm run build`), for 3 s with each sort of load, after half a second that is not recorded. A row is one moment:
// [now, slept, turns] at the end of a turn that is marked, and [now, slept, turns, since, unaccepted, truth] for a request; times in milliseconds.
// `since` is when its connection was answered last, 'fresh' for the first request of a connection, null where others of it are not answered yet.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const SECONDS = 3
const WARM_MS = 500
const MOST = 700

const built = process.env.FLOODWALL_DIST ?? new URL('../../../dist/', import.meta.url).href
const { pipeline } = await import(new URL('index.js', built).href)
const { protect } = await import(new URL('adapters/http/index.js', built).href)
const { FRESH, QueueDelay, UNKNOWN } = await import(new URL('server/queue-delay.js', built).href)
const sender = fileURLToPath(new URL('sender.mjs', import.meta.url))

const spin = (ms) => {
  for (const end = performance.now() + ms; performance.now() < end; );
}
const sync = { what: 'sync 5 ms', perSecond: 200, run: () => spin(5) }
const async = {
  what: 'async, 1 ms and 2 ms',
  perSecond: 333,
  async run() {
    spin(1)
    await sleep(5)
    spin(2)
  },
}
const loads = [
  { handler: sync, load: 0.9, kind: 'kept' },
  { handler: sync, load: 2, kind: 'kept' },
  { handler: sync, load: 2, kind: 'fresh' },
  { handler: async, load: 0.9, kind: 'kept' },
  { handler: async, load: 2, kind: 'kept' },
  { handler: async, load: 2, kind: 'fresh' },
]

let rows = []
let truth = 0
const places = (value) => Math.round(value * 100) / 100
const { waited } = QueueDelay.prototype
const watched = new WeakSet()
QueueDelay.prototype.waited = function (since, unacceptedMs = 0) {
  const { runtime, sources } = this
  const moment = () => [runtime.precise(), sources.idleMs(), sources.turns()]
  if (!watched.has(this)) {
    watched.add(this)
    const soon = (fn) =>
      runtime.soon(() => {
        rows.push(moment())
        fn()
      })
    this.runtime = { precise: () => runtime.precise(), soon }
  }
  rows.push([...moment(), since === UNKNOWN ? null : since === FRESH ? 'fresh' : since, unacceptedMs, truth])
  return Reflect.apply(waited, this, [since, unacceptedMs])
}

async function record({ handler, load, kind }) {
  rows = []
  const server = createServer({ keepAliveTimeout: 60_000 })
  const listener = async (_, response) => {
    await handler.run()
    response.end('ok')
  }
  const guard = protect(pipeline('door', []), listener, { connections: server })
  server.on('request', (request, response) => {
    truth = Number(process.hrtime.bigint() - BigInt(request.headers['x-sent'])) / 1e6
    guard(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address()
  const client = fork(sender, [port, handler.perSecond * load, SECONDS, 100, kind].map(String))
  await once(client, 'exit')
  server.closeAllConnections()
  server.close()
  await guard.close()
  const start = rows.findIndex(([now]) => now > rows[0][0] + WARM_MS)
  const kept = rows.slice(start, start + MOST)
  const [zero, idle, turns] = kept[0]
  const from = (now) => places(now - zero)
  return {
    name: `${handler.what}, ${load} times the load, ${kind} connections`,
    kind,
    rows: kept.map(([now, slept, loops, ...request]) => {
      const moment = [from(now), places(slept - idle), loops - turns]
      if (request.length === 0) return moment
      const [since, unaccepted, real] = request
      return [...moment, typeof since === 'number' ? from(since) : since, places(unaccepted), places(real)]
    }),
  }
}

const runs = []
for (const load of loads) runs.push(await record(load))
const node = process.version
writeFileSync(
  process.argv[2],
  `${JSON.stringify({ node, runs }).replaceAll('],[', '],\n[').replaceAll('"rows":[', '"rows":[\n')}\n`,
)
for (const { name, rows: all } of runs) console.log(name, all.length, all.filter((row) => row.length > 3).length)
process.exit(0)
