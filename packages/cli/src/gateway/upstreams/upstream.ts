import type { Endpoint } from 'floodwall'
import type { Dispatcher } from 'undici'
import { type Cause, causes } from '../exchange/failures.ts'
import { Connections, type Rider } from './connections.ts'

/** What the connections of all upstreams have in common. */
export interface PoolLimits {
  readonly connections: number
  readonly connectMs: number
  readonly idleMs: number
  readonly headerBytes: number
}

/** One of the servers behind the gateway, with its connections and counts. */
export class Upstream implements Endpoint {
  readonly id: string
  readonly origin: string
  // Private to the runtime, too: layers print their options, and these are not for printing.
  readonly #connections: Connections
  readonly #failures = new Map<Cause, number>(causes.map((cause) => [cause, 0]))
  #active = 0
  #attempts = 0
  #retired = false

  constructor(origin: string, id: string, limits: PoolLimits, onError: (error: unknown) => void) {
    this.id = id
    this.origin = origin
    this.#connections = new Connections(origin, limits, onError)
  }

  dispatch(options: Dispatcher.DispatchOptions, rider: Rider): void {
    this.#active++
    this.#attempts++
    this.#connections.dispatch(options, rider)
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

  get failures(): ReadonlyMap<Cause, number> {
    return this.#failures
  }

  /** Connections that are open, and requests in line for one. */
  get connections(): { readonly open: number; readonly waiting: number } {
    const { open, waiting } = this.#connections
    return { open, waiting }
  }

  /** Drops every connection at once. */
  async close(): Promise<void> {
    await this.#connections.close()
  }
}
