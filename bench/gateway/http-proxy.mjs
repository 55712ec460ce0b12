// node http-proxy.mjs PORT UPSTREAM. Without the agent it opens a connection per request, which nobody would run.
import { Agent, createServer } from 'node:http'
import httpProxy from 'http-proxy'

const [port, target] = process.argv.slice(2)
const proxy = httpProxy.createProxyServer({ target, agent: new Agent({ keepAlive: true }), xfwd: true })
proxy.on('error', (_error, _request, response) => {
  if (!response.headersSent) response.writeHead?.(502)
  response.end()
})
const server = createServer((request, response) => proxy.web(request, response))
server.keepAliveTimeout = 60_000
server.listen(Number(port), '127.0.0.1')
