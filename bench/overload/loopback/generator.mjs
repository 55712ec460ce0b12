// node generator.mjs '{"port", "pid", "most", "phases": [{"name", "perSecond" | "connections", "settleMs", "measureMs", "sliceMs", "answers", "awake"}]}'
// Loads one server, phase by phase: an open loop (Poisson arrivals, whatever becomes of the answers) or a closed one over so many connections.
// Kept connections, at most so many; who finds none free is counted, and not sent. An answer is good within a second. Prints for each phase what
// was answered in its time, and the CPU time of the server in it.
import { createHistogram, performance } from 'node:perf_hooks'
import { cpuSeconds } from '../../gateway/cpu.mjs'
import { Connection } from './connection.mjs'

const USEFUL_MS = 1000
const MOST_SENT = 400_000
const CONNECT_AT_ONCE = 50
const CONNECT_MS = 5
const SETTLED_MS = 200

const { port, pid, most, phases } = JSON.parse(process.argv[2])
const bytes = Buffer.from(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nuser-agent: load\r\naccept: */*\r\n\r\n`)
/** @type {Connection[]} */
const free = []
let open = 0
let sent = 0
/** Counts answers while it is not null. */
let tally = null
let closed = 0
const lag = createHistogram()

const micros = (ms) => Math.max(1, Math.round(ms * 1000))

class Tally {
  start = performance.now()
  cpu = cpuSeconds(pid)
  good = 0
  late = 0
  refused = 0
  lost = 0
  unsent = 0
  sent = 0
  good$ = createHistogram()
  refused$ = createHistogram()
  /** Latencies of good answers by the slice in which they were asked for. */
  slices = []
  sliceMs

  constructor({ sliceMs }) {
    this.sliceMs = sliceMs
  }

  heard(asked, status, now) {
    const took = now - asked
    if (status !== 200) {
      this.refused++
      this.refused$.record(micros(took))
    } else if (took > USEFUL_MS) this.late++
    else {
      this.good++
      this.good$.record(micros(took))
    }
    if (status === 200 && this.sliceMs !== undefined && asked >= this.start) {
      const slice = Math.floor((asked - this.start) / this.sliceMs)
      this.slices[slice] ??= []
      this.slices[slice].push(took)
    }
  }

  report({ name }) {
    const now = performance.now()
    const { good, late, refused, lost, unsent, sent: count, slices } = this
    const p = (histogram, share) => (histogram.count === 0 ? null : histogram.percentile(share) / 1000)
    return {
      ...{ name, good, late, refused, lost, unsent, sent: count },
      seconds: (now - this.start) / 1000,
      cpuSeconds: cpuSeconds(pid) - this.cpu,
      ...{ p50Ms: p(this.good$, 50), p99Ms: p(this.good$, 99), refusedP99Ms: p(this.refused$, 99) },
      ...(this.sliceMs !== undefined && { slices: Array.from(slices, (all) => middle(all ?? [])) }),
    }
  }
}

function middle(all) {
  return all.length === 0 ? null : all.sort((a, b) => a - b)[all.length >> 1]
}

function heard(asked, status, connection) {
  tally?.heard(asked, status, performance.now())
  if (closed > 0) ask(connection)
  else free.push(connection)
}

function lost(asked, connection) {
  open--
  if (asked !== null) {
    if (tally !== null) tally.lost++
  } else {
    const at = free.indexOf(connection)
    if (at >= 0) free.splice(at, 1)
  }
  if (closed > 0 && open < closed) arrive()
}

function ask(connection) {
  sent++
  if (tally !== null) tally.sent++
  connection.ask(bytes, performance.now())
}

function arrive() {
  if (sent >= MOST_SENT) return
  const connection = free.pop()
  if (connection !== undefined) return ask(connection)
  if (open < most) {
    open++
    return ask(new Connection(port, heard, lost))
  }
  if (tally !== null) tally.unsent++
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Poisson arrivals until `end`. A timer is a millisecond; how late it is, is told. */
async function arrivals(perSecond, end) {
  let due = performance.now()
  for (;;) {
    const now = performance.now()
    if (now >= end) return
    if (now > due) lag.record(micros(now - due))
    for (; due <= now; due += (-Math.log(1 - Math.random()) / perSecond) * 1000) arrive()
    await pause(Math.max(0, due - now))
  }
}

/** So many, or the end of the time. */
async function answered(answers, end) {
  while (performance.now() < end && (tally === null || tally.good + tally.refused < answers)) await pause(2)
}

/**
 * Turns without end: whoever sleeps is woken at the expense of the server that answers, and sleeps the more often the slower that is (a microsecond
 * and a half of 15 was measured, in one of two servers).
 */
function stayAwake() {
  let awake = true
  const turn = () => void (awake && setImmediate(turn))
  turn()
  return () => {
    awake = false
  }
}

async function run(phase) {
  const { perSecond, connections, settleMs, measureMs } = phase
  const rest = phase.awake ? stayAwake() : () => {}
  const from = performance.now() + settleMs
  const end = from + measureMs
  const begin = setTimeout(() => {
    tally = new Tally(phase)
  }, settleMs)
  if (perSecond !== undefined) await arrivals(perSecond, end)
  else {
    closed = connections
    for (let i = 0; i < connections; i++) arrive()
    if (phase.answers === undefined) await pause(settleMs + measureMs)
    else await answered(phase.answers, end)
    closed = 0
  }
  clearTimeout(begin)
  rest()
  const found = tally?.report(phase) ?? null
  tally = null
  return found
}

/**
 * All connections are there before the load is: under load Node takes one in each turn of its loop, and whoever waits for that would be a load
 * that has not come.
 */
async function connect() {
  while (open < most) {
    for (let i = 0; i < CONNECT_AT_ONCE && open < most; i++) {
      open++
      free.push(new Connection(port, heard, lost))
    }
    await pause(CONNECT_MS)
  }
  await pause(SETTLED_MS)
}

await connect()
const found = []
for (const phase of phases) found.push(await run(phase))
process.stdout.write(
  JSON.stringify({ phases: found, sent, open, lagP99Ms: lag.count === 0 ? 0 : lag.percentile(99) / 1000 }),
)
process.exit(0)
