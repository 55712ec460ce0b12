// node bench/gateway/slices.mjs [SLICES [REQUESTS]]: what a request costs, on a machine that has other work to do (Linux).
//
// All servers run, and one process holds connections to all of them: it asks one for a slice of some hundred requests, then the next. So
// what is compared is a tenth of a second apart, and of all slices the quiet fifth is looked at, not the middle.
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../lib/folders.mjs'
import { contenders, yardstick } from './contenders.mjs'
import { assertLinux, cpuSeconds } from './cpu.mjs'
import { freePort, serve } from './servers.mjs'

const CONNECTIONS = 16
const WARM_REQUESTS = 15_000
const [slices = 60, requests = 1000] = process.argv.slice(2).map(Number)

/** One server and the connections to it: a closed loop. */
class Field {
  runs = []
  #left = 0
  #due = 0
  #finish = () => {}
  #sockets = []

  constructor(name, pid, port) {
    this.name = name
    this.pid = pid
    this.port = port
    this.request =
      `GET /stock/A-17?fields=all HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nuser-agent: load\r\naccept: application/json\r\n` +
      'accept-encoding: identity\r\nx-request-id: 7d1f2c9a\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\n' +
      'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n'
  }

  async open() {
    for (let i = 0; i < CONNECTIONS; i++) {
      const socket = connect({ port: this.port, host: '127.0.0.1', noDelay: true })
      await once(socket, 'connect')
      let text = ''
      socket.on('data', (piece) => {
        text += piece.toString('latin1')
        const end = text.indexOf('\r\n\r\n')
        if (end < 0) return
        const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))
        if (length === null || !text.startsWith('HTTP/1.1 200 ')) throw new Error(`${this.name}: ${text}`)
        if (text.length < end + 4 + Number(length[1])) return
        text = ''
        this.#took(socket)
      })
      this.#sockets.push(socket)
    }
  }

  /** Microseconds of the server's CPU for each of `count` requests. */
  async slice(count) {
    const before = cpuSeconds(this.pid)
    this.#left = count - CONNECTIONS
    this.#due = count
    await new Promise((resolve) => {
      this.#finish = () => resolve(undefined)
      for (const socket of this.#sockets) socket.write(this.request)
    })
    return ((cpuSeconds(this.pid) - before) * 1e6) / count
  }

  #took(socket) {
    if (--this.#due === 0) return this.#finish()
    if (this.#left-- > 0) socket.write(this.request)
  }
}

/** Below it lies a share of the values. */
function quantile(values, share) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]
}

assertLinux('gateway')
const node = process.execPath
const originPort = await freePort()
const origin = fileURLToPath(new URL('./origin.mjs', import.meta.url))
const servers = [await serve('origin', node, [origin, originPort], { core: 1, port: originPort })]
const fields = []
const wanted = contenders.filter(({ name }) => name.startsWith(yardstick) || name.startsWith('floodwall'))
for (const { name, args } of wanted) {
  const port = await freePort()
  const place = { port, upstream: `http://127.0.0.1:${originPort}`, spare: await freePort(), folder: temporaryFolder() }
  const server = await serve(name, node, args(place), { core: 0, port })
  servers.push(server)
  fields.push(new Field(name, server.pid, port))
}
for (const field of fields) {
  await field.open()
  await field.slice(WARM_REQUESTS)
}
for (let i = 0; i < slices; i++) {
  for (const field of i % 2 === 0 ? fields : fields.toReversed()) field.runs.push(await field.slice(requests))
}
const quiet = fields.map(({ runs }) => quantile(runs, 0.2))
for (const [i, { name }] of fields.entries()) {
  const ratios = quiet.slice(0, 2).map((bare) => `${(quiet[i] / bare).toFixed(2)}x`)
  process.stdout.write(`${name.padEnd(34)} ${quiet[i].toFixed(1).padStart(6)} us  ${ratios.join('  ')}\n`)
}
await Promise.all(servers.map((server) => server.stop()))
process.exit(0)
