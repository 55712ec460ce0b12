import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Snapshot } from '../core/gate.ts'
import { type Env, envOf, type Runtime } from '../core/runtime.ts'
import { systemRuntime } from '../core/system.ts'
import { addressIn } from '../server/network-address.ts'
import { endSoftly, endsConnection, hasBody } from '../server/unread-body.ts'
import {
  type AdminOptions,
  type AdminSettings,
  adminSettings,
  isLoopback,
  type ListenOptions,
  listenSettings,
} from './admin-options.ts'
import { type Answer, answerOf, Refusal, refusedAnswer, sendAnswer } from './answer.ts'
import { Gone, jsonOf } from './body.ts'
import { Door, isCrossSite, isForwarded, type Place } from './door.ts'
import { endServer, operatorsServer } from './listener.ts'
import { Registry } from './registry.ts'
import { Routes } from './routes.ts'
import { Steering } from './steering.ts'

// How does an operator see and steer what a service keeps, while it runs?
//
// By HTTP, in JSON: `GET` shows, `POST` changes. First who asks, then what for: who is not let in learns nothing of what there is. Mounted in a
// server of the service, or at a port of its own.
//
// Invariant: a request is answered once or its client has left; with it end its timers, its listeners and what it began, but for what it was
// answered 202 for.

export class Admin {
  /** Of node:http, Express or Connect: `createServer(operators.handler)`, `app.use('/admin', operators.handler)`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  private readonly settings: AdminSettings
  private readonly env: Env
  private readonly door: Door
  private readonly steering: Steering
  private readonly routes: Routes
  private readonly counts = { requests: 0, refused: 0, faults: 0, left: 0 }
  private server: Server | undefined
  private ended = false

  constructor(options: AdminOptions, runtime: Runtime = systemRuntime) {
    const { token, caches, tables, pipelines, ...own } = options
    const registry = new Registry({ caches, tables, pipelines })
    this.settings = adminSettings(token, own)
    this.env = envOf(runtime, 'admin')
    const { digest, hosts, wait } = this.settings
    this.door = new Door({ token: digest, hosts: hosts.map((name) => name.toLowerCase()) })
    this.steering = new Steering(this.env, wait)
    this.routes = new Routes(registry, this.steering, this)
    this.handler = (request, response) => void this.serve(request, response, false)
  }

  /** Listens by itself; resolves to its address, `http://127.0.0.1:9091`. Rejects when it cannot. */
  async listen(options: ListenOptions): Promise<string> {
    const { host, port } = listenSettings(options, this.settings.loopbackOnly)
    if (this.server !== undefined || this.ended)
      throw new Error(`admin ${this.ended ? 'was closed' : 'listens already'}`)
    const server = operatorsServer((request, response) => void this.serve(request, response, true))
    this.server = server
    try {
      server.listen(port, host)
      await once(server, 'listening')
    } catch (error) {
      this.server = undefined
      throw error
    }
    // Closed meanwhile: a name was looked up, and there was nothing to close yet.
    if (this.ended) {
      await endServer(server)
      throw new Error('admin was closed')
    }
    const at = server.address() as AddressInfo
    return `http://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`
  }

  private async serve(request: IncomingMessage, response: ServerResponse, ours: boolean): Promise<void> {
    this.counts.requests++
    const leaving = new AbortController()
    response.once('close', () => leaving.abort())
    const answer = await this.answer(request, ours, leaving.signal).catch((error: unknown) => this.told(error))
    if (answer === undefined || response.destroyed || response.headersSent) return
    sendAnswer(response, closing(answer, request, this.env), request.method === 'HEAD')
  }

  /** What was wrong, as an answer; undefined: the client has left. */
  private told(error: unknown): Answer | undefined {
    if (error instanceof Gone) {
      this.counts.left++
      return undefined
    }
    const answer = answerOf(error)
    if (answer.status >= 500) this.counts.faults++
    else this.counts.refused++
    return answer
  }

  private async answer(request: IncomingMessage, ours: boolean, leaving: AbortSignal): Promise<Answer> {
    const refused = this.refusal(request, ours)
    if (refused !== undefined) return refused
    this.refuseEnded()
    const { get, post } = this.routes.at(this.pathOf(request.url ?? ''))
    const { method } = request
    if (get !== undefined && (method === 'GET' || method === 'HEAD')) return get()
    if (post !== undefined && method === 'POST') {
      const body = await jsonOf(request, this.env)
      // Closed meanwhile: nobody would stop what begins now.
      this.refuseEnded()
      return post({ body, leaving })
    }
    const allow = get === undefined ? 'POST' : 'GET, HEAD'
    throw new Refusal(405, `Here one may ${allow}.`, { allow })
  }

  private refuseEnded(): void {
    if (this.ended) throw new Refusal(503, 'This page was closed.')
  }

  /** Why who asks is not let in; undefined: he is. */
  private refusal(request: IncomingMessage, ours: boolean): Answer | undefined {
    const { headers, socket } = request
    const { door, env, settings } = this
    const host = headers.host ?? (headers[':authority'] as string | undefined)
    if (settings.loopbackOnly && !isLoopback(socket.remoteAddress))
      return this.noEntry('This page is for this machine.')
    // In a server of others nobody knows who may connect: a proxy before it is on this machine, too.
    if (!ours && settings.digest === undefined) return this.noEntry('Mounted, this page needs a token.')
    // ... nor does one who asks for others become one of them by being near.
    if (settings.digest === undefined && isForwarded(headers))
      return this.noEntry('Behind a proxy this page needs a token.')
    const refused = door.refusal({ host, authorization: headers.authorization }, placeOf(socket), env.now())
    if (refused === undefined)
      return isCrossSite(headers, host) ? this.noEntry('This page is not for other sites.') : undefined
    if (refused.status === 429 && door.token.alarming) {
      env.emit({ type: 'warning', at: env.now(), path: env.path, why: 'somebody guesses the token' })
    }
    this.counts.refused++
    return refusedAnswer(refused)
  }

  private noEntry(why: string): Answer {
    this.counts.refused++
    return refusedAnswer({ status: 403, why, headers: {} })
  }

  private pathOf(url: string): string {
    const { under = '' } = this.settings
    const [path = ''] = url.split('?')
    return path.startsWith(`${under}/`) ? path.slice(under.length) : ''
  }

  /** Nobody is answered any more, but with 503 where it is mounted; warm-ups are stopped. Twice is harmless. */
  async close(): Promise<void> {
    this.ended = true
    this.steering.warmUps.stop()
    if (this.server !== undefined) await endServer(this.server)
  }

  /** What is, now: JSON-safe. */
  inspect(): Snapshot {
    const { counts, door, steering, env } = this
    const { counts: changes, running, refused } = steering.changes
    const wrongTokens = door.token.failures
    return { kind: 'admin', path: env.path, ...counts, wrongTokens, changes: { ...changes }, running, tooMany: refused }
  }
}

/** Of a socket in the file system: none. */
function placeOf({ localAddress, localPort }: Socket): Place | undefined {
  return localPort === undefined ? undefined : { address: addressIn(localAddress ?? '') ?? '', port: localPort }
}

/** `answer`; with a word that the connection ends, where more of the request comes than is worth reading. */
function closing(answer: Answer, request: IncomingMessage, env: Env): Answer {
  const isPartRead = answer.status === 408 || answer.status === 413
  if (request.complete || request.httpVersionMajor > 1 || !hasBody(request)) return answer
  if (!isPartRead && !endsConnection(request)) return answer
  endSoftly(request, env)
  return { ...answer, headers: { ...answer.headers, connection: 'close' } }
}

/**
 * A page for operators: `admin({ token, caches: { items }, tables: { rates } })`, then `listen({ port: 9091 })` or its `handler`. Throws a ConfigError
 * on bad options.
 */
export function admin(options: AdminOptions, runtime?: Runtime): Admin {
  return new Admin(options, runtime)
}
