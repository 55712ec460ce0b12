// node sender.mjs '{"port": P, "bytes": N}'
// Sends N bytes as fast as they are taken. PUT: it may be repeated, so a gateway may want to keep a part of it.
import { request } from 'node:http'

const { port, bytes } = JSON.parse(process.argv[2])
const start = performance.now()
const chunk = Buffer.alloc(65_536, 'x')
let left = bytes

const upload = request(
  { port, host: '127.0.0.1', method: 'PUT', path: '/', agent: false, headers: { 'content-length': bytes } },
  (response) => {
    let text = ''
    response.on('data', (piece) => {
      text += piece
    })
    response.on('end', () => {
      if (response.statusCode !== 200 || text !== String(bytes)) fail(new Error(`${response.statusCode} ${text}`))
      process.stdout.write(JSON.stringify({ bytes, seconds: (performance.now() - start) / 1000 }))
      process.exit(0)
    })
  },
)
upload.on('error', fail)
pour()

function pour() {
  while (left > 0) {
    const piece = left < chunk.length ? chunk.subarray(0, left) : chunk
    left -= piece.length
    if (!upload.write(piece)) return void upload.once('drain', pour)
  }
  upload.end()
}

function fail(error) {
  process.stderr.write(error.message)
  process.exit(1)
}
