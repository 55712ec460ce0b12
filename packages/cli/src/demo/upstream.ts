import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Order, REPORT_EVERY_MS, type ServerNews } from './messages.ts'
import type { Behaviour } from './story.ts'
import type { Sample } from './tally.ts'

// One server of the demo, a process of its own. It does as it is told over IPC and reports what it saw.

const SLOWER_MS = 1_500

const answers: Record<Behaviour, (res: ServerResponse) => void> = {
  well: (res) => answer(res, 200, serviceMs()),
  slow: (res) => answer(res, 200, serviceMs() + SLOWER_MS),
  failing: (res) => (Math.random() < 0.5 ? answer(res, 500, serviceMs()) : reset(res, serviceMs())),
}

let behaviour: Behaviour = 'well'
let arrivals = 0
let served: Sample[] = []
let reportedAt = performance.now()

/** Around 5 ms, as of a server that does something. */
function serviceMs(): number {
  return 3 + Math.random() * 4
}

function answer(res: ServerResponse, status: number, afterMs: number): void {
  const body = JSON.stringify({ status, tookMs: Math.round(afterMs) })
  later(res, afterMs, () => {
    res.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
    res.end(body)
  })
}

function reset(res: ServerResponse, afterMs: number): void {
  later(res, afterMs, () => res.socket?.resetAndDestroy())
}

/** Not at all when the client has left by then: a caller that timed out is not worked for. */
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

server.listen(0, '127.0.0.1', () => tell({ kind: 'listening', port: (server.address() as AddressInfo).port }))

process.on('message', (order: Order) => {
  // What came before belongs to the phase before.
  report()
  behaviour = order.as
  tell({ kind: 'behaving' })
})

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
