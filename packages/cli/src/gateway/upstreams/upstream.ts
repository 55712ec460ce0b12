import type { Endpoint } from 'floodwall'
import type { Dispatcher } from 'undici'
import type { Target } from '../config/address.ts'
import type { UpstreamTls } from '../config/tls-options.ts'
import { type Cause, causes } from '../exchange/failures.ts'
import { Connections, type Rider } from './connections.ts'

/** What the connections of all upstreams have in common. */
export interface PoolLimits {
  readonly connections: number
  readonly connectMs: number
  readonly idleMs: number
  readonly headerBytes: number
  /** Lines in the head of an answer. */
  readonly headerCount: number
}

/** One of the servers behind the gateway, with its connections and counts. */
export class Upstream implements Endpoint {
  readonly id: string
  readonly origin: string
  /** The same, for balancers: another scheme at the same host and port is another server, of which nothing is known. */
  readonly address: string
  /** Before every path that it is asked for. */
  readonly base: string
  mostHeaderLines: number
  // Private to the runtime, too: layers print their options, and these are not for printing.
  readonly #connections: Connections
  readonly #failures = new Map<Cause, number>(causes.map((cause) => [cause, 0]))
  #active = 0
  #attempts = 0
  #redone = 0
  #retired = false
  #settings: string

  constructor(
    { id, origin, base }: Target,
    limits: PoolLimits,
    tls: UpstreamTls | undefined,
    onError: (error: unknown) => void,
  ) {
    this.id = id
    this.origin = origin
    this.address = origin
    this.base = base
    this.mostHeaderLines = limits.headerCount
    this.#settings = settingsOf(limits, tls)
    this.#connections = new Connections(origin, limits, tls, onError)
  }

  /** Other limits, other certificates: for connections to come. */
  update(limits: PoolLimits, tls: UpstreamTls | undefined): void {
    this.mostHeaderLines = limits.headerCount
    const settings = settingsOf(limits, tls)
    if (settings === this.#settings) return
    this.#settings = settings
    this.#connections.renew(limits, tls)
  }

  /** A request would go out at once: a connection is kept for it. */
  get ready(): boolean {
    return this.#connections.ready
  }

  /** An attempt begins; it ends with {@link ended}. */
  begun(): void {
    this.#active++
    this.#attempts++
  }

  dispatch(options: Dispatcher.DispatchOptions, rider: Rider): void {
    this.#connections.dispatch(options, rider)
  }

  /** Once more, on a new connection: the kept one had been closed when the request came. */
  redo(options: Dispatcher.DispatchOptions, rider: Rider): void {
    this.#redone++
    this.#connections.again(options, rider)
  }

  /** The whole answer is here. */
  free(rider: Rider): void {
    this.#connections.free(rider)
  }

  /** It came to nothing, or stopped half-way. */
  broke(rider: Rider): void {
    this.#connections.broke(rider)
  }

  /** Nobody wants the rest of it. */
  cut(rider: Rider, reason: Error): void {
    this.#connections.cut(rider, reason)
  }

  /** An attempt is over. */
  ended(): void {
    this.#active--
    if (this.#active === 0 && this.#retired) void this.close()
  }

  /** It is not in the settings any more: closes when nothing runs. */
  retire(): void {
    this.#retired = true
    if (this.#active === 0) void this.close()
  }

  failed(cause: Cause): void {
    this.#failures.set(cause, (this.#failures.get(cause) ?? 0) + 1)
  }

  get active(): number {
    return this.#active
  }

  get attempts(): number {
    return this.#attempts
  }

  /** Requests that were sent a second time since a kept connection was closed under them. */
  get redone(): number {
    return this.#redone
  }

  get failures(): ReadonlyMap<Cause, number> {
    return this.#failures
  }

  /** Connections that are open, requests in line for one, and why the last try to make one failed. */
  get connections(): { readonly open: number; readonly waiting: number; readonly trouble?: string } {
    const { open, waiting, trouble } = this.#connections
    return trouble === '' ? { open, waiting } : { open, waiting, trouble }
  }

  /** Drops every connection at once. */
  async close(): Promise<void> {
    await this.#connections.close()
  }
}

function settingsOf({ connections, connectMs, idleMs, headerBytes }: PoolLimits, tls: UpstreamTls | undefined): string {
  return JSON.stringify([connections, connectMs, idleMs, headerBytes, tls?.mark])
}
