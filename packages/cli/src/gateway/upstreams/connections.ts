import type { EventEmitter } from 'node:events'
import { buildConnector, Client, type Dispatcher } from 'undici'
import type { PoolLimits } from './upstream.ts'

// Connections to one upstream, and who waits for one.
//
// One undici Client is one connection here. undici's own Pool would do, but for two things that matter when an upstream is in trouble: an
// aborted request takes its connection down, and the Pool opens another one for it, to the server that is already too slow; and who waits
// in its line cannot leave it. Here an abort ends the connection and nothing else, and leaving the line costs nothing. The connection that
// was used last is used next: the others may grow idle and close.
//
// Invariant: a client is idle, has one request, or is not ours any more.

/** A request on its way: what undici calls, and the connection it has. */
export interface Rider extends Dispatcher.DispatchHandler {
  /** Null while it waits, and when it is over. */
  client: Client | null
}

/** A kept connection is dropped before a server with the usual 5 s would drop it, so that no request meets a closing one. */
const KEEP_ALIVE_MS = 4000

export class Connections {
  /** Established ones. */
  open = 0
  private readonly origin: string
  private readonly options: Client.Options
  private readonly most: number
  private readonly all = new Set<Client>()
  private readonly idle: Client[] = []
  private readonly line = new Map<Rider, Dispatcher.DispatchOptions>()
  private readonly onError: (error: unknown) => void

  /** `onError` hears of what our own handlers threw. */
  constructor(origin: string, limits: PoolLimits, onError: (error: unknown) => void) {
    this.origin = origin
    this.most = limits.connections
    this.onError = onError
    this.options = {
      pipelining: 1,
      connect: buildConnector({ timeout: limits.connectMs }),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Layers judge how long an answer may take; this only makes sure that nothing waits for ever where there are none.
      headersTimeout: limits.idleMs,
      bodyTimeout: limits.idleMs,
      maxHeaderSize: limits.headerBytes,
    }
  }

  get waiting(): number {
    return this.line.size
  }

  dispatch(options: Dispatcher.DispatchOptions, rider: Rider): void {
    const client = this.idle.pop() ?? this.more()
    if (client === undefined) this.line.set(rider, options)
    else send(client, options, rider)
  }

  /** The rider's answer has ended: its connection is there for the next. */
  free(rider: Rider): void {
    const { client } = rider
    if (client === null) return
    rider.client = null
    this.idle.push(client)
    if (this.line.size > 0) process.nextTick(this.serve)
  }

  /** The same after an error; undici tells of it in the middle of its work, and wants no new request before that is done. */
  broke(rider: Rider): void {
    process.nextTick(() => this.free(rider))
  }

  /** Nobody wants the answer any more: ends the connection, or the wait for one. */
  cut(rider: Rider, reason: Error): void {
    const { client } = rider
    if (client === null) return void this.line.delete(rider)
    rider.client = null
    this.all.delete(client)
    client.destroy(reason, () => {})
    if (this.line.size > 0) process.nextTick(this.serve)
  }

  private readonly serve = (): void => {
    for (const [rider, options] of this.line) {
      const client = this.idle.pop() ?? this.more()
      if (client === undefined) return
      this.line.delete(rider)
      send(client, options, rider)
    }
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await Promise.all([...this.all].map((client) => client.destroy()))
  }

  private more(): Client | undefined {
    if (this.all.size >= this.most) return undefined
    const client = new Client(this.origin, this.options)
    client.on('connect', () => {
      this.open++
    })
    client.on('disconnect', () => {
      this.open--
    })
    // Not in undici's types: what our own handlers throw comes here, and would end the process.
    ;(client as EventEmitter).on('error', this.onError)
    this.all.add(client)
    return client
  }
}

function send(client: Client, options: Dispatcher.DispatchOptions, rider: Rider): void {
  rider.client = client
  client.dispatch(options, rider)
}
