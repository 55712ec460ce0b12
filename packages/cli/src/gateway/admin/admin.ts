import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Gateway } from '../gateway.ts'
import { inspect } from './inspect.ts'
import { metrics } from './metrics.ts'

// The listener for operators. It has no login, so it is for this machine only, reads and changes nothing, and answers to its own names:
// a web page elsewhere can make a browser ask 127.0.0.1, but not with `Host: 127.0.0.1`.

interface Page {
  readonly type: string
  readonly status: number
  readonly body: string
}

const plain = 'text/plain; charset=utf-8'

function say(status: number, body: string): Page {
  return { type: plain, status, body: `${body}\n` }
}

export function adminServer(gateway: Gateway): Server {
  const server = createServer({ requireHostHeader: false, insecureHTTPParser: false }, (request, response) => {
    const page = pageOf(gateway, server, request)
    send(response, page, request.method === 'HEAD')
  })
  return server
}

function pageOf(gateway: Gateway, server: Server, request: IncomingMessage): Page {
  const { port } = server.address() as AddressInfo
  if (!isOurName(request.headers.host, port)) return say(403, 'Ask for 127.0.0.1, [::1] or localhost.')
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'This page is for reading.')
  switch (request.url) {
    case '/healthz':
      return say(200, 'ok')
    case '/readyz':
      return gateway.stage === 'ready' ? say(200, 'ready') : say(503, gateway.stage)
    case '/inspect':
      return { type: 'application/json', status: 200, body: `${JSON.stringify(inspect(gateway), null, 2)}\n` }
    case '/metrics':
      return { type: 'text/plain; version=0.0.4; charset=utf-8', status: 200, body: metrics(gateway) }
    default:
      return say(404, 'There are /inspect, /metrics, /healthz and /readyz.')
  }
}

function isOurName(host: string | undefined, port: number): boolean {
  if (host === undefined) return false
  const ports = port === 80 ? ['', ':80'] : [`:${port}`]
  return ports.some((suffix) =>
    ['127.0.0.1', '[::1]', 'localhost'].some((name) => host.toLowerCase() === name + suffix),
  )
}

function send(response: ServerResponse, { type, status, body }: Page, head: boolean): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
  })
  response.end(head ? undefined : body)
}
