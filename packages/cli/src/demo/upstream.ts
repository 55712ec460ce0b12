import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Order, REPORT_EVERY_MS, type ServerNews } from './messages.ts'
import { type Behaviour, SLOWER_MS } from './story.ts'
import type { Sample } from './tally.ts'
import { Workers } from './workers.ts'

// One server of the demo, a process of its own. It does as it is told over IPC and reports what it saw.

/** While it was dead, somebody may have been given its port for a moment. */
const AGAIN_MS = 50

const workers = new Workers()

const answers: Record<Behaviour, (res: ServerResponse) => void> = {
  well: (res) => worked(res, () => answer(res, 200)),
  // On the way back, not in the workers: a slow network.
  slow: (res) => worked(res, () => later(res, SLOWER_MS, () => answer(res, 200))),
  wrong: (res) => answer(res, 500),
  // What came in before the port was closed.
  dead: (res) => res.socket?.resetAndDestroy(),
}

let behaviour: Behaviour = 'well'
let port = 0
let arrivals = 0
let served: Sample[] = []
let reportedAt = performance.now()

function worked(res: ServerResponse, done: () => void): void {
  if (!workers.take(done)) answer(res, 503)
}

function answer(res: ServerResponse, status: number): void {
  const body = `${JSON.stringify({ status })}\n`
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
  res.end(body)
}

function later(res: ServerResponse, ms: number, act: () => void): void {
  const timer = setTimeout(act, ms)
  res.once('close', () => clearTimeout(timer))
}

const server = createServer((_req, res) => {
  arrivals++
  const from = performance.now()
  res.once('close', () => served.push([performance.now() - from, res.statusCode === 200 && res.writableFinished]))
  answers[behaviour](res)
})

// Idle connections outlive the demo, so that no request meets a socket that is just being closed.
server.keepAliveTimeout = 120_000

const sockets = new Set<Socket>()
server.on('connection', (socket) => {
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})

function open(done: () => void): void {
  const again = (): void => {
    setTimeout(() => server.listen(port, '127.0.0.1'), AGAIN_MS)
  }
  server.on('error', again)
  server.listen(port, '127.0.0.1')
  server.once('listening', () => {
    server.off('error', again)
    port = (server.address() as AddressInfo).port
    done()
  })
}

/** As the system does it for a process that dies: connections are reset, the port is closed. */
function die(done: () => void): void {
  workers.die()
  server.close(done)
  for (const socket of sockets) socket.resetAndDestroy()
}

process.on('message', ({ as }: Order) => {
  // What came before belongs to the behaviour before.
  report()
  const before = behaviour
  behaviour = as
  const done = (): void => tell({ kind: 'behaving' })
  if (as === 'dead' && before !== 'dead') die(done)
  else if (as !== 'dead' && before === 'dead') open(done)
  else done()
})

open(() => tell({ kind: 'listening', port }))

setInterval(report, REPORT_EVERY_MS)

function report(): void {
  const now = performance.now()
  tell({ kind: 'report', spanMs: now - reportedAt, arrivals, served })
  arrivals = 0
  served = []
  reportedAt = now
}

/** A parent that has gone is noticed elsewhere (orphan.ts). */
function tell(news: ServerNews): void {
  process.send?.(news, undefined, undefined, () => {})
}
