// The yardstick of the suite `gateway`: the least that a correct reverse proxy costs in Node. node:http in, undici's
// dispatcher out, raw header arrays, no stream objects in between. Hop-by-hop lines go, forwarding lines come, bodies
// stream with back-pressure, aborts travel both ways, time is limited, 502 and 504 tell causes apart. No floodwall in it.
import { createServer } from 'node:http'
import { Pool } from 'undici'
import { Deadlines } from './deadlines.mjs'
import { Exchange } from './exchange.mjs'

export function bareProxy({ upstream, timeoutMs = 30_000, connections = 64 }) {
  // Our deadline covers the head; undici's timer for it would be a second one.
  const pool = new Pool(upstream, { connections, headersTimeout: 0 })
  const deadlines = new Deadlines(timeoutMs)
  const server = createServer((request, response) => {
    if (request.url[0] !== '/') return response.writeHead(400, ['content-length', '0']).end()
    const exchange = new Exchange(request, response, deadlines)
    pool.dispatch(exchange.options(), exchange)
  })
  server.keepAliveTimeout = 60_000
  server.on('close', () => {
    pool.destroy().catch(() => {})
  })
  return server
}
