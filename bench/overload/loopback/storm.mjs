// node storm.mjs '{"port", "pid", "perSecond", "beforeS", "triggerS", "afterS"}'
// Clients that repeat: up to three tries for each call, at once after a failure or after 200 ms without an answer, when the connection is closed.
// An open loop. For some seconds the work of the server `pid` is slower. Prints for each second what was wanted, done and tried.
import { performance } from 'node:perf_hooks'
import { Connection } from './connection.mjs'

const TRIES = 3
const TIMEOUT_MS = 200
const MOST_CONNECTIONS = 6000
const MOST_TRIES = 300_000

const { port, pid, perSecond, beforeS, triggerS, afterS } = JSON.parse(process.argv[2])
const bytes = Buffer.from(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nuser-agent: storm\r\naccept: */*\r\n\r\n`)
const lastsS = beforeS + triggerS + afterS
const seconds = Array.from({ length: lastsS }, () => ({ wanted: 0, done: 0, tried: 0 }))
/** @type {Connection[]} */
const free = []
let open = 0
let tries = 0
const start = performance.now()

class Call {
  second
  left = TRIES
  timer
  connection

  constructor(second) {
    this.second = second
    second.wanted++
    this.try()
  }

  try() {
    if (this.left === 0) return
    this.left--
    this.second.tried++
    if (open >= MOST_CONNECTIONS && free.length === 0) return
    if (++tries > MOST_TRIES) return
    this.connection = free.pop() ?? fresh()
    this.timer = setTimeout(() => this.connection.destroy(), TIMEOUT_MS)
    this.connection.ask(bytes, this)
  }

  heard(status) {
    clearTimeout(this.timer)
    if (status === 200) this.second.done++
    else this.try()
  }
}

function fresh() {
  open++
  return new Connection(
    port,
    (call, status, connection) => {
      free.push(connection)
      call.heard(status)
    },
    (call, connection) => {
      open--
      const at = free.indexOf(connection)
      if (at >= 0) free.splice(at, 1)
      clearTimeout(call?.timer)
      call?.try()
    },
  )
}

const trigger = () => process.kill(pid, 'SIGUSR2')
setTimeout(trigger, beforeS * 1000)
setTimeout(trigger, (beforeS + triggerS) * 1000)

let due = start
for (;;) {
  const now = performance.now()
  const second = seconds[Math.floor((now - start) / 1000)]
  if (second === undefined) break
  for (; due <= now; due += (-Math.log(1 - Math.random()) / perSecond) * 1000) new Call(second)
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - now)))
}
// The last ones end.
await new Promise((resolve) => setTimeout(resolve, TRIES * TIMEOUT_MS + 100))
process.stdout.write(JSON.stringify(seconds))
process.exit(0)
