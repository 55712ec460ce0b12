// node reader.mjs '{"port": P, "bytes": N, "bytesPerSecond": R}'
// Asks for N bytes and reads them slowly, from a bare socket: no library between the kernel's buffer and the pace.
import { connect } from 'node:net'
import { readSlowly } from './pace.mjs'

const { port, bytes, bytesPerSecond } = JSON.parse(process.argv[2])
const start = performance.now()
const socket = connect({ port, host: '127.0.0.1' })
let head = ''
let body = -1 // so many bytes of it; -1: the head comes first

socket.write(`GET /${bytes} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
socket.on('error', fail)
socket.on('close', () => fail(new Error(`the connection ended after ${body} of ${bytes} bytes: ${head.slice(0, 100)}`)))
readSlowly(socket, bytesPerSecond, (chunk) => {
  if (body < 0) {
    head += chunk.latin1Slice()
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    if (!head.startsWith('HTTP/1.1 200 ')) return fail(new Error(head.slice(0, 100)))
    body = head.length - end - 4
  } else body += chunk.length
  if (body < bytes) return
  process.stdout.write(JSON.stringify({ bytes: body, seconds: (performance.now() - start) / 1000 }))
  process.exit(0)
})

function fail(error) {
  process.stderr.write(error.message)
  process.exit(1)
}
