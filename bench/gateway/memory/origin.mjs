// node origin.mjs PORT BYTES_PER_SECOND
// GET /N answers with N bytes, as fast as they are taken; any other path with 1 KB. What is sent here is read slowly, and
// answered with its length.
import { createServer } from 'node:http'
import { readSlowly } from './pace.mjs'

const [port, bytesPerSecond] = process.argv.slice(2).map(Number)
const chunk = Buffer.alloc(65_536, 'x')

createServer((request, response) => {
  if (request.method !== 'GET') return swallow(request, response)
  const bytes = /^\/\d+$/.test(request.url) ? Number(request.url.slice(1)) : 1024
  response.writeHead(200, ['content-type', 'application/octet-stream', 'content-length', String(bytes)])
  pour(response, bytes)
}).listen(port, '127.0.0.1')

function swallow(request, response) {
  let bytes = 0
  readSlowly(request, bytesPerSecond, (piece) => {
    bytes += piece.length
  })
  request.on('end', () => response.end(String(bytes)))
}

function pour(response, bytes) {
  let left = bytes
  while (left > 0) {
    const piece = left < chunk.length ? chunk.subarray(0, left) : chunk
    left -= piece.length
    if (!response.write(piece)) return void response.once('drain', () => pour(response, left))
  }
  response.end()
}
