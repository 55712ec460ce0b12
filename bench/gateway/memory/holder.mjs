// node holder.mjs '{"port": P, "connections": N}'
// Opens N connections, asks once on each and keeps them. Says so in a line when all are there; ends when one is lost.
import { connect } from 'node:net'

const AT_A_TIME = 32

const { port, connections } = JSON.parse(process.argv[2])
const request = Buffer.from(
  `GET /stock/A-17?fields=all HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nuser-agent: load\r\naccept: application/json\r\n\r\n`,
)
const kept = []
let begun = 0

function next() {
  if (begun === connections) return
  begun++
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let text = ''
  const read = (chunk) => {
    text += chunk.latin1Slice()
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) return
    const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(text.slice(0, end + 2))
    if (length === null || !text.startsWith('HTTP/1.1 200 ')) return fail(text.slice(0, 100))
    if (text.length < end + 4 + Number(length[1])) return
    socket.off('data', read)
    kept.push(socket)
    if (kept.length === connections) process.stdout.write(`${JSON.stringify({ open: connections })}\n`)
    next()
  }
  socket.on('data', read)
  socket.on('error', (error) => fail(error.message))
  socket.on('close', () => fail('the server closed it'))
  socket.write(request)
}

for (let i = 0; i < AT_A_TIME; i++) next()

function fail(reason) {
  process.stderr.write(`a connection was lost with ${kept.length} of ${connections} open: ${reason}`)
  process.exit(1)
}
