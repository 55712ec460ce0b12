import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import type { AdminConfig } from '../config/admin-options.ts'
import type { Gateway } from '../gateway.ts'
import type { Log } from '../log.ts'
import { effective } from './effective.ts'
import { inspect } from './inspect.ts'
import { metrics } from './metrics.ts'
import { listenAt, showListening } from './socket-file.ts'
import { Token } from './token.ts'

// The listener for operators. It reads and changes nothing, and it answers to its own names: a web page elsewhere can make a browser ask
// 127.0.0.1, but not with `Host: 127.0.0.1`. Who asks is known by his token, or by being able to connect at all; never by a header that
// names an address. Probes need neither token nor name: they learn one word.

interface Page {
  readonly type: string
  readonly status: number
  readonly body: string
}

const plain = 'text/plain; charset=utf-8'

function say(status: number, body: string): Page {
  return { type: plain, status, body: `${body}\n` }
}

/** It must stay reachable while somebody holds connections to it, and small: who is slow goes. */
const limits = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
}
const MOST_CONNECTIONS = 256
/** No byte in either direction. */
const SILENCE_MS = 30_000

const headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

export class Admin {
  readonly token: Token
  private readonly gateway: Gateway
  private readonly log: Log
  private readonly server: Server
  private config: AdminConfig

  constructor(gateway: Gateway, config: AdminConfig, log: Log) {
    this.gateway = gateway
    this.log = log
    this.config = config
    this.token = new Token(config.token)
    const options = { requireHostHeader: false, insecureHTTPParser: false, ...limits }
    this.server = createServer(options, (request, response) => {
      send(response, this.page(request), request.method === 'HEAD')
    })
    this.server.maxConnections = MOST_CONNECTIONS
    this.server.setTimeout(SILENCE_MS)
  }

  /** `http://127.0.0.1:9090`, `unix:/run/floodwall/admin.sock`; the port is the real one. */
  get address(): string {
    return showListening(this.server)
  }

  get listening(): boolean {
    return this.server.listening
  }

  async open(): Promise<void> {
    await listenAt(this.server, this.config.place)
  }

  /** Token and names; where it listens stays. */
  update(config: AdminConfig): void {
    this.config = config
    this.token.change(config.token)
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    if (this.listening) await new Promise<void>((resolve) => void this.server.close(() => resolve()))
  }

  private page(request: IncomingMessage): Page {
    if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'This page is for reading.')
    const { gateway } = this
    if (request.url === '/healthz') return say(200, 'ok')
    if (request.url === '/readyz') return gateway.stage === 'ready' ? say(200, 'ready') : say(503, gateway.stage)
    if (!this.isOurName(request.headers.host)) return say(403, 'Ask for this page by one of its own names.')
    const refused = this.refusal(request.headers.authorization)
    if (refused !== undefined) return refused
    switch (request.url) {
      case '/inspect':
        return json(inspect(gateway))
      case '/config':
        return json(effective(gateway.config))
      case '/metrics':
        return { type: 'text/plain; version=0.0.4; charset=utf-8', status: 200, body: metrics(gateway) }
      default:
        return say(404, 'There are /inspect, /config, /metrics, /healthz and /readyz.')
    }
  }

  private refusal(authorization: string | undefined): Page | undefined {
    switch (this.token.check(authorization, performance.now())) {
      case 'ok':
        return undefined
      case 'none':
        return say(401, 'This page needs a token: "Authorization: Bearer ...".')
      case 'wrong':
        return say(401, 'This is not the token.')
      case 'too-many':
        if (this.token.alarming) this.log.warn({ failures: this.token.failures }, 'somebody guesses the admin token')
        return say(429, 'Too many wrong tokens.')
    }
  }

  private isOurName(host: string | undefined): boolean {
    if (host === undefined) return false
    const asked = host.toLowerCase()
    if (this.config.hosts.includes(asked)) return true
    const at = this.server.address()
    // A socket in the file system has no port, and its callers write what they like.
    if (at === null || typeof at === 'string') return loopback.some((name) => asked === name)
    const ports = at.port === 80 ? ['', ':80'] : [`:${at.port}`]
    return ports.some((port) => [...loopback, ...namesOf(at)].some((name) => asked === name + port))
  }
}

const loopback = ['127.0.0.1', '[::1]', 'localhost']

/** An address that was chosen is a name, too; "all of them" is none, but the machine has one. */
function namesOf({ address, family }: AddressInfo): string[] {
  if (address === '0.0.0.0' || address === '::') return [hostname().toLowerCase()]
  return [family === 'IPv6' ? `[${address}]` : address]
}

function json(value: object): Page {
  return { type: 'application/json', status: 200, body: `${JSON.stringify(value, null, 2)}\n` }
}

function send(response: ServerResponse, { type, status, body }: Page, head: boolean): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...headers,
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...(status === 429 ? { 'retry-after': '1' } : {}),
  })
  response.end(head ? undefined : body)
}
