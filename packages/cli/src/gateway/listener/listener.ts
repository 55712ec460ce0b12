import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Telemetry } from '../admin/telemetry.ts'
import type { Limits } from '../config/limits.ts'
import { Problem } from '../exchange/problem.ts'
import { refusedMethod } from '../heads/request-head.ts'
import type { Log } from '../log.ts'
import type { Peers } from './peer.ts'
import type { Proxy } from './proxy.ts'

// The server that faces the clients. node:http parses; what it lets through and should not is refused in request-head.ts.

const malformed = new Problem('bad-request', 'The request is not valid HTTP.', { closing: true })
const tooLarge = new Problem('headers-too-large', 'The header fields are too large.', { closing: true })
const tooSlow = new Problem('upload-stalled', 'The request did not arrive in time.', { closing: true })

const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

const problemByCode: ReadonlyMap<string, readonly [Problem, string]> = new Map([
  ['HPE_HEADER_OVERFLOW', [tooLarge, 'Request Header Fields Too Large']],
  [LATE, [tooSlow, 'Request Timeout']],
])

/** How often the limits on slow requests are looked at: they may be late by so much. */
const CHECK_EVERY_MS = 2000

/** A listener that is not listening yet. */
export function trafficServer(proxy: Proxy, peers: Peers, telemetry: Telemetry, limits: Limits, log: Log): Server {
  const server = createServer({
    // Never the lenient parser, whatever the process was started with: it is how requests are smuggled.
    insecureHTTPParser: false,
    // Checked by us, who can say what is wrong.
    requireHostHeader: false,
    maxHeaderSize: limits.headerBytes,
    // From the first byte to the last of the head, and of the whole request.
    headersTimeout: Math.min(limits.headMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    // Longer than the 60 s of usual balancers: whoever closes first meets no request that is on its way.
    keepAliveTimeout: limits.keepAliveMs,
    noDelay: true,
  })
  // Node 20 shows the first 1,000 lines and drops the rest in silence. We want to see them all, and refuse.
  server.maxHeadersCount = 0
  server.on('connection', (socket) => peers.admit(socket))
  server.on('request', (request, response) => proxy.handle(request, response))
  // Without this node:http would ask for the body before a gate has said yes.
  server.on('checkContinue', (request, response) => proxy.handle(request, response))
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    refuse(socket, refusedMethod, 'Method Not Allowed', proxy.nextId())
    telemetry.turnedAway.add(request.method as string, refusedMethod.status)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const peer = peers.of(socket)
    const code = error.code ?? ''
    if (code === LATE && peer.busy) return peer.tooLate()
    // The rest of a message that was refused by its head.
    if (peer.closing) return socket.destroySoon()
    // The client is gone, or in the middle of an answer: there is nobody to tell, or no way to.
    if (code === 'ECONNRESET' || !socket.writable || peer.busy) return void socket.destroy()
    const [problem, phrase] = problemByCode.get(code) ?? [malformed, 'Bad Request']
    const id = proxy.nextId()
    telemetry.turnedAway.add('OTHER', problem.status)
    log.debug({ id, code, status: problem.status, from: peer.address }, 'not a valid request')
    refuse(socket, problem, phrase, id)
  })
  return server
}

function refuse(socket: Socket, problem: Problem, phrase: string, id: string): void {
  socket.end(problem.wire(id, phrase))
  socket.destroySoon()
}
