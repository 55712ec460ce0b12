import { createSecureContext } from 'node:tls'
import { buildConnector, type Dispatcher } from 'undici'
import { isSecure } from '../config/address.ts'
import type { UpstreamTls } from '../config/tls-options.ts'
import { Connection, type ConnectionOptions, type Watcher } from './connection.ts'
import type { PoolLimits } from './upstream.ts'

// Connections to one upstream, and who waits for one.
//
// One undici Client is one connection here. undici's own Pool would do, but for two things that matter when an upstream is in trouble: an
// aborted request takes its connection down, and the Pool opens another one for it, to the server that is already too slow; and who waits
// in its line cannot leave it. Here an abort ends the connection and nothing else, and leaving the line costs nothing. The connection that
// was used last is used next: the others may grow idle and close.
//
// Invariant: a connection is idle, has one request, or is not ours any more.

/** A request on its way: what undici calls, and the connection it has. */
export interface Rider extends Dispatcher.DispatchHandler {
  /** Null while it waits, and when it is over. */
  connection: Connection | null
}

/** A kept connection is dropped before a server with the usual 5 s would drop it, so that no request meets a closing one. */
const KEEP_ALIVE_MS = 4000
/** So much earlier than a server that says when (`Keep-Alive: timeout=`). */
const KEEP_ALIVE_MARGIN_MS = 1000
const KEEP_ALIVE_MOST_MS = 60_000

/**
 * undici would take the name for TLS from the request's Host, which is the caller's word, and make a new connection when it changes: it is
 * told a constant, and our connector does not listen to it.
 */
const sameName = { servername: 'upstream' }

export class Connections implements Watcher {
  /** Established ones. */
  open = 0
  /** Why the last connection came to nothing, in the words of the system; '' since one was made. */
  trouble = ''
  private readonly origin: string
  private readonly secure: boolean
  private options: ConnectionOptions
  private most: number
  private readonly all = new Set<Connection>()
  private readonly idle: Connection[] = []
  /** Busy ones with settings of before: they end with their request. */
  private readonly old = new Set<Connection>()
  private readonly line = new Map<Rider, Dispatcher.DispatchOptions>()
  private readonly onError: (error: unknown) => void

  /** `onError` hears of what our own handlers threw. */
  constructor(origin: string, limits: PoolLimits, tls: UpstreamTls | undefined, onError: (error: unknown) => void) {
    this.origin = origin
    this.secure = isSecure({ origin })
    this.most = limits.connections
    this.onError = onError
    this.options = optionsOf(limits, connectorTo(this.origin, limits, tls))
  }

  /** Other settings, for connections that are made from now on. Nobody who waits or runs notices. */
  renew(limits: PoolLimits, tls: UpstreamTls | undefined): void {
    this.most = limits.connections
    this.options = optionsOf(limits, connectorTo(this.origin, limits, tls))
    const idle = new Set(this.idle)
    for (const connection of this.all) {
      if (idle.has(connection)) void connection.end()
      else this.old.add(connection)
    }
    this.idle.length = 0
    this.all.clear()
    if (this.line.size > 0) process.nextTick(this.serve)
  }

  /** The connection that would be used next is established. */
  get ready(): boolean {
    return this.idle[this.idle.length - 1]?.isOpen === true
  }

  get waiting(): number {
    return this.line.size
  }

  dispatch(options: Dispatcher.DispatchOptions, rider: Rider): void {
    const connection = this.idle.pop() ?? this.more()
    if (connection === undefined) this.line.set(rider, options)
    else this.send(connection, options, rider)
  }

  /** The same once more for a rider whose connection was gone just then: on a new one, in the same place. */
  again(options: Dispatcher.DispatchOptions, rider: Rider): void {
    // Not now: undici is in the middle of its work.
    process.nextTick(() => {
      if (rider.connection !== null) this.send(rider.connection, options, rider)
    })
  }

  /** The rider's answer has ended: its connection is there for the next. */
  free(rider: Rider): void {
    const { connection } = rider
    if (connection === null) return
    rider.connection = null
    connection.served++
    if (this.old.size > 0 && this.old.delete(connection)) process.nextTick(() => void connection.end())
    // Closed meanwhile: the next one would come to nothing.
    else if (this.all.has(connection)) this.idle.push(connection)
    if (this.line.size > 0) process.nextTick(this.serve)
  }

  /** The same after an error; undici tells of it in the middle of its work, and wants no new request before that is done. */
  broke(rider: Rider): void {
    process.nextTick(() => this.free(rider))
  }

  /** Nobody wants the answer any more: ends the connection, or the wait for one. */
  cut(rider: Rider, reason: Error): void {
    const { connection } = rider
    if (connection === null) return void this.line.delete(rider)
    rider.connection = null
    this.all.delete(connection)
    this.old.delete(connection)
    void connection.end(reason)
    if (this.line.size > 0) process.nextTick(this.serve)
  }

  private readonly serve = (): void => {
    for (const [rider, options] of this.line) {
      const connection = this.idle.pop() ?? this.more()
      if (connection === undefined) return
      this.line.delete(rider)
      this.send(connection, options, rider)
    }
  }

  /** Ends every connection. Who comes later gets a new one: a request may have waited for its turn while its server was taken out. */
  async close(): Promise<void> {
    const gone = [...this.all, ...this.old]
    this.idle.length = 0
    this.all.clear()
    this.old.clear()
    await Promise.all(gone.map((connection) => connection.end()))
  }

  // What becomes of connections.

  opened(): void {
    this.open++
    this.trouble = ''
  }

  closed(): void {
    this.open--
  }

  failed(why: string): void {
    this.trouble = why
  }

  fault(error: unknown): void {
    this.onError(error)
  }

  private send(connection: Connection, options: Dispatcher.DispatchOptions, rider: Rider): void {
    rider.connection = connection
    connection.send(this.secure ? { ...options, ...sameName } : options, rider)
  }

  private more(): Connection | undefined {
    if (this.all.size + this.old.size >= this.most) return undefined
    const connection = new Connection(this.origin, this.options, this)
    this.all.add(connection)
    return connection
  }
}

function optionsOf(limits: PoolLimits, connect: buildConnector.connector): ConnectionOptions {
  return {
    pipelining: 1,
    connect,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Who says how long he keeps them is believed, but for the moment that a request is on its way.
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MOST_MS,
    // Layers judge how long an answer may take; this only makes sure that nothing waits for ever where there are none.
    headersTimeout: limits.idleMs,
    bodyTimeout: limits.idleMs,
    maxHeaderSize: limits.headerBytes,
  }
}

/** The server is verified, and by the name that the settings say, unless they say that anybody will do. */
function connectorTo(
  origin: string,
  { connectMs }: PoolLimits,
  tls: UpstreamTls | undefined,
): buildConnector.connector {
  if (!isSecure({ origin })) return buildConnector({ timeout: connectMs })
  const { ca, cert, key, servername, insecure = false } = tls ?? {}
  const connect = buildConnector({
    timeout: connectMs,
    rejectUnauthorized: !insecure,
    // Once, and not for each connection: certificates are long texts.
    secureContext: createSecureContext({
      minVersion: 'TLSv1.2',
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert, key }),
    }),
    ...(servername === undefined ? {} : { servername }),
  })
  return ({ servername: _fromHost, ...to }, done) => connect(to, done)
}
