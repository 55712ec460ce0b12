import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Server as SecureServer, TLSSocket } from 'node:tls'
import type { Intake, ProcessSignals } from 'floodwall/server'
import type { Telemetry } from '../admin/telemetry.ts'
import type { Limits } from '../config/limits.ts'
import { malformed } from '../exchange/failures.ts'
import { Problem } from '../exchange/problem.ts'
import { type Log, logEvent } from '../log.ts'
import { hearAgain } from '../upgrades/hear-again.ts'
import type { Carriers } from './carriers.ts'
import type { Certificates } from './certificates.ts'
import { carrierOf } from './node-internals.ts'
import { isTargetTooLong } from './overflow.ts'
import type { Peers } from './peers.ts'
import type { Proxy } from './proxy.ts'

// The server that faces the clients. node:http parses; what it lets through and should not is refused in request-head.ts.

const tooLarge = new Problem('headers-too-large', 'The header fields are too large.', { closing: true })
const targetTooLong = new Problem('target-too-long', 'The target of the request is too long.', { closing: true })
const tooSlow = new Problem('upload-stalled', 'The request did not arrive in time.', { closing: true })

const unexpected = new Problem('expectation-failed', 'The only expectation that is known here is 100-continue.', {
  closing: true,
})

const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'
/** The connection has ended in the middle of a message. */
const CUT_OFF = 'HPE_INVALID_EOF_STATE'

const problemByCode: ReadonlyMap<string, Problem> = new Map([
  ['HPE_HEADER_OVERFLOW', tooLarge],
  [LATE, tooSlow],
])

/** How often the limits on slow requests are looked at: they may be late by so much. */
const CHECK_EVERY_MS = 2000

/** What a listener needs to know. */
export interface Ground {
  readonly proxy: Proxy
  readonly peers: Peers
  readonly telemetry: Telemetry
  readonly limits: Limits
  readonly log: Log
  readonly signals: ProcessSignals
}

/** A server, and whether it takes new connections. */
export interface Listener {
  readonly server: Server
  readonly intake: Intake
}

/** A server that is not listening yet, and the connections beneath it; `certificates`: it speaks TLS. */
export function trafficServer(ground: Ground, carriers: Carriers, certificates?: Certificates): Listener {
  const { proxy, peers, telemetry, limits, log, signals } = ground
  const options = {
    // Never the lenient parser, whatever the process was started with: it is how requests are smuggled.
    insecureHTTPParser: false,
    // Checked by us, who can say what is wrong.
    requireHostHeader: false,
    maxHeaderSize: limits.headerBytes,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    noDelay: true,
  }
  const server =
    certificates === undefined
      ? createServer(options)
      : createSecureServer({ ...options, ...certificates.options(limits.handshakeMs) })
  if (certificates !== undefined) certificates.serve(server as SecureServer)
  // Before the others: its own connections are gone when they hear of them.
  const name = certificates === undefined ? 'http' : 'https'
  const intake = signals.intake(server, `gateway/${name}`, (event) => logEvent(event, log))
  const listener = { server, intake }
  setLimits(listener, limits)
  // Node 20 shows the first 1,000 lines and drops the rest in silence. We want to see them all, and refuse.
  server.maxHeadersCount = 0
  // Who has said all may still listen: node:http would cut his answer off.
  ;(server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true
  server.on('drop', () => {
    telemetry.connectionsRefused++
  })
  server.on('connection', (socket: Socket) => {
    if (socket.destroyed) return
    if (certificates === undefined) peers.admit(socket, socket, intake)
    else carriers.add(socket)
  })
  if (certificates !== undefined) {
    ;(server as SecureServer).on('secureConnection', (socket) => {
      const peer = peers.admit(socket, carriers.beneath(socket), intake)
      if (!isImpostor(socket)) return
      telemetry.handshakesFailed++
      // What it may have asked for already is not heard.
      peer.closing = true
      socket.destroy()
    })
  }
  server.on('request', (request, response) => proxy.handle(request, response))
  // Without this node:http would ask for the body before a gate has said yes.
  server.on('checkContinue', (request, response) => proxy.handle(request, response, true))
  // Anything but 100-continue. node:http would answer by itself, without a word.
  server.on('checkExpectation', (request, response) => proxy.turnAway(unexpected, request, response))
  server.on('upgrade', (request: IncomingMessage, socket: Socket, early: Buffer) => {
    proxy.upgrade(request, socket, early, () => {
      hearAgain(socket, request, early)
      server.emit(certificates === undefined ? 'connection' : 'secureConnection', socket)
    })
  })
  server.on('connect', (request: IncomingMessage, socket: Socket) => proxy.connect(request, socket))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const carrier = carrierOf(socket)
    if (carrier !== undefined && intake.isOwn(carrier)) return
    const peer = peers.find(socket)
    const code = error.code ?? ''
    if (peer === undefined) {
      telemetry.handshakesFailed++
      log.debug({ code: code === '' ? error.message : code }, 'a TLS handshake failed')
      return void socket.destroy()
    }
    if (code === LATE && peer.tooLate()) return
    // The rest of a message that was refused by its head. The parser says so again with every piece that comes.
    if (peer.closing) {
      peer.deaf()
      if (!peer.answering && socket.writable) socket.destroySoon()
      return
    }
    // The client is gone, and its body with it: there is nobody to tell.
    if (code === 'ECONNRESET' || !socket.writable || (code === CUT_OFF && peer.busy)) return void socket.destroy()
    const usual = problemByCode.get(code) ?? malformed
    const problem = usual === tooLarge && isTargetTooLong(error, limits.headerBytes) ? targetTooLong : usual
    const id = proxy.lastWord(problem, peer)
    if (id !== undefined) log.debug({ id, code, status: problem.status, from: peer.address }, 'not a valid request')
  })
  return listener
}

/** Those that may change while it serves. */
export function setLimits({ server, intake }: Listener, { clients, headMs, requestMs, keepAliveMs }: Limits): void {
  intake.allow(clients)
  // From the first byte to the last of the head, and of the whole request.
  server.headersTimeout = Math.min(headMs, requestMs)
  server.requestTimeout = requestMs
  // Longer than the 60 s of usual balancers: whoever closes first meets no request that is on its way.
  server.keepAliveTimeout = keepAliveMs
}

/** Shows a certificate that nobody whom we know has signed. */
function isImpostor(socket: TLSSocket): boolean {
  return !socket.authorized && socket.getPeerX509Certificate() !== undefined
}
