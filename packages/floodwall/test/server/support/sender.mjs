import { connect } from 'node:net'

// A client that writes into each request when it sent it: argv is port, requests a second, seconds, connections at most, 'kept' or 'fresh'.
// The clock is the machine's monotonic one, which server and client share. Arrivals are Poisson, by a seeded generator, whether answers come or not.

const [port, rate, seconds, most, kind] = process.argv.slice(2)
const free = []
let open = 0
let skipped = 0
let seed = 12_345

const chance = () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

const send = (socket) => {
  socket.answered = false
  socket.write(`GET / HTTP/1.1\r\nhost: a\r\nx-sent: ${process.hrtime.bigint()}\r\n\r\n`)
}

const take = (socket) => {
  // Answers are short and come whole: one read is one answer.
  socket.on('data', () => {
    if (kind === 'fresh') socket.destroy()
    else free.push(socket)
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    open--
    const at = free.indexOf(socket)
    if (at >= 0) free.splice(at, 1)
  })
}

const arrive = () => {
  const idle = free.pop()
  if (idle !== undefined) return send(idle)
  if (open >= Number(most)) return void skipped++
  open++
  const socket = connect(Number(port), '127.0.0.1', () => send(socket))
  socket.setNoDelay(true)
  take(socket)
}

const end = performance.now() + Number(seconds) * 1000
let due = performance.now()
const turn = () => {
  const now = performance.now()
  if (now > end) process.exit(0)
  for (; due <= now; due += (-Math.log(1 - chance()) / Number(rate)) * 1000) arrive()
  setTimeout(turn, Math.max(0, due - performance.now()))
}
turn()
