// node origin.mjs PORT: answers everything with 1 KB of JSON, in one write. Behind the proxies it is the upstream; alone it
// is the row 'bare reply': what answering costs when nothing is forwarded.
import { createServer } from 'node:http'

const body = JSON.stringify({ sku: 'A-17', stock: 3, note: 'x'.repeat(980) })
const head = ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))]

const server = createServer((_request, response) => {
  response.writeHead(200, head)
  response.end(body)
})
server.keepAliveTimeout = 60_000
server.listen(Number(process.argv[2]), '127.0.0.1')
