// node load.mjs '{"port": P, "connections": N, "seconds": S, "most": REQUESTS}'
// A closed loop on keep-alive connections over bare sockets: each sends the same bytes again when its reply is whole. An
// HTTP client library would need more CPU than the servers that are measured. Loopback only, bounded in time and count.
import { connect } from 'node:net'
import { createHistogram, performance } from 'node:perf_hooks'

const GRACE_MS = 2000
const MOST_ERRORS = 100

const { port, connections, seconds, most } = JSON.parse(process.argv[2])
const request = Buffer.from(
  `GET /stock/A-17?fields=all HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nuser-agent: load\r\naccept: application/json\r\n` +
    'accept-encoding: identity\r\nx-request-id: 7d1f2c9a\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\n' +
    'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n',
)
const micros = createHistogram()
let sent = 0
let requests = 0
let errors = 0
let endAt = 0
let working = 0

class Connection {
  #socket
  #sentAt = 0
  #head = '' // of a reply whose head is not whole yet
  #missing = -1 // bytes of its body; -1: the head comes first

  async open() {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve, reject) => this.#socket.once('connect', resolve).once('error', reject))
    this.#socket.on('error', () => {})
    this.#socket.on('data', (chunk) => this.#read(chunk))
    this.#socket.on('close', () => this.#lost())
  }

  start() {
    working++
    this.#send()
  }

  #send() {
    if (sent >= most || performance.now() >= endAt) return this.#stop()
    sent++
    this.#sentAt = performance.now()
    this.#socket.write(request)
  }

  #read(chunk) {
    if (this.#missing >= 0) return this.#took(chunk.length)
    this.#head += chunk.latin1Slice()
    const end = this.#head.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(this.#head.slice(0, end + 2))
    if (length === null || !this.#head.startsWith('HTTP/1.1 200 ')) return this.#fail()
    this.#missing = Number(length[1])
    const body = this.#head.length - end - 4
    this.#head = ''
    this.#took(body)
  }

  #took(bytes) {
    this.#missing -= bytes
    if (this.#missing > 0) return
    if (this.#missing < 0) return this.#fail() // more than was asked for
    this.#missing = -1
    requests++
    micros.record(Math.max(1, Math.round((performance.now() - this.#sentAt) * 1000)))
    this.#send()
  }

  #fail() {
    errors++
    this.#socket.destroy()
  }

  async #lost() {
    if (this.#socket === undefined) return
    this.#head = ''
    this.#missing = -1
    if (++errors > MOST_ERRORS) return report()
    try {
      await this.open()
      this.#send()
    } catch {
      report()
    }
  }

  #stop() {
    const socket = this.#socket
    this.#socket = undefined
    socket.destroy()
    if (--working === 0) report()
  }
}

const all = Array.from({ length: connections }, () => new Connection())
await Promise.all(all.map((connection) => connection.open()))
const start = performance.now()
endAt = start + seconds * 1000
for (const connection of all) connection.start()
setTimeout(report, seconds * 1000 + GRACE_MS)

function report() {
  const tookMs = Math.min(performance.now(), endAt) - start
  const [p50, p99] = [50, 99].map((p) => (requests === 0 ? 0 : micros.percentile(p) / 1000))
  process.stdout.write(
    JSON.stringify({ requests, errors, perSecond: requests / (tookMs / 1000), p50Ms: p50, p99Ms: p99 }),
  )
  process.exit(0)
}
