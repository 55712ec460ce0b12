import type { Endpoint } from 'floodwall'
import { type Dispatcher, Pool } from 'undici'
import { type Cause, causes } from './failures.ts'

/** What the pools of all upstreams have in common. */
export interface PoolLimits {
  readonly connections: number
  readonly connectMs: number
  readonly idleMs: number
  readonly headerBytes: number
}

/** A kept connection is dropped before a server with the usual 5 s would drop it, so that no request meets a closing one. */
const KEEP_ALIVE_MS = 4000

/** One of the servers behind the gateway, with its connections. */
export class Upstream implements Endpoint {
  readonly id: string
  // Private to the runtime, too: layers print their options, and the pool is not for printing.
  readonly #pool: Pool
  readonly #failures = new Map<Cause, number>(causes.map((cause) => [cause, 0]))
  #active = 0
  #attempts = 0

  constructor(origin: string, id: string, limits: PoolLimits) {
    this.id = id
    this.#pool = new Pool(origin, {
      connections: limits.connections,
      pipelining: 1,
      connect: { timeout: limits.connectMs },
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Layers judge how long an answer may take; this only makes sure that nothing waits for ever where there are none.
      headersTimeout: limits.idleMs,
      bodyTimeout: limits.idleMs,
      maxHeaderSize: limits.headerBytes,
    })
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#active++
    this.#attempts++
    this.#pool.dispatch(options, handler)
  }

  /** An attempt is over. */
  ended(): void {
    this.#active--
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

  get failures(): ReadonlyMap<Cause, number> {
    return this.#failures
  }

  /** Connections that are open, and requests in line for one. */
  get connections(): { readonly open: number; readonly waiting: number } {
    const { connected, pending } = this.#pool.stats
    return { open: connected, waiting: pending }
  }

  /** Drops every connection at once. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }
}
