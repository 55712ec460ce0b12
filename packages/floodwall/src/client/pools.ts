import type { Socket } from 'node:net'
import type { Member } from '../algorithms/cluster/member.ts'
import { showMs } from '../core/duration.ts'
import type { Endpoint } from '../core/init.ts'
import type { Runtime } from '../core/runtime.ts'
import { targetOf } from './address.ts'
import { type Connector, loadUndici, type Pool, type Undici } from './undici.ts'
import { unsent } from './unsent.ts'

// Which connections go to which endpoint, and when are they closed?
//
// One pool for each endpoint, made with its first request. When discovery drops the endpoint its requests end as they would have, then the
// pool is closed; it must not stay, or a fleet that rolls once a day leaves a pool for every address that ever was.

/** Dropped by us before a server with the usual 5 s would drop it, so that no request meets a closing connection. */
const KEEP_ALIVE_MS = 4000

export interface PoolsOptions {
  /** Of undici's Pool, over ours. */
  readonly pool: Readonly<Record<string, unknown>>
  readonly connectMs: number
}

/** Who wants a connection of a pool, and those that are being made for them. */
interface Demand {
  requests: number
  readonly connecting: Set<Socket>
}

export class Pools {
  private readonly options: PoolsOptions
  private readonly runtime: Runtime
  /** By the endpoint itself: its id may be at another address tomorrow. */
  private readonly pools = new Map<Endpoint, Pool>()
  private readonly demands = new WeakMap<Pool, Demand>()
  /** Of dropped endpoints, until their last request has ended. */
  private readonly leaving = new Map<Pool, Promise<void>>()
  private undici: Promise<Undici | undefined> | undefined
  private closed = false

  constructor(options: PoolsOptions, runtime: Runtime) {
    this.options = options
    this.runtime = runtime
  }

  /** The package, loaded when it is first asked for; undefined where it is not installed. */
  load(): Promise<Undici | undefined> {
    this.undici ??= loadUndici()
    return this.undici
  }

  /** The pool of `endpoint`. Throws a TypeError on an address that is none. */
  of(endpoint: Endpoint, undici: Undici): Pool {
    const known = this.pools.get(endpoint)
    if (known !== undefined) return known
    if (this.closed) throw unsent(new Error('the client is closed'))
    const { pool: wishes, connectMs } = this.options
    const { connect } = wishes
    const demand: Demand = { requests: 0, connecting: new Set() }
    const connector =
      typeof connect === 'function' ? connect : bounded(undici, connect, connectMs, this.runtime, demand)
    const options = { pipelining: 1, keepAliveTimeout: KEEP_ALIVE_MS, ...wishes, connect: connector }
    const pool = new undici.Pool(targetOf(endpoint).origin, options)
    this.pools.set(endpoint, pool)
    this.demands.set(pool, demand)
    return pool
  }

  /**
   * Sends a request through the pool of `endpoint`. A pool goes on connecting for whoever comes next, and there may be nobody: when the last
   * one who waited has left, what is being made for him is given up.
   */
  async send<A>(endpoint: Endpoint, undici: Undici, signal: AbortSignal, go: (pool: Pool) => Promise<A>): Promise<A> {
    const pool = this.of(endpoint, undici)
    const demand = this.demands.get(pool) as Demand
    demand.requests++
    // Heard here as well: a request that waits for a connection hears of its abort only when there is one.
    const left = () => {
      demand.requests--
      // Later, when nobody is about to send one more: it would fail with a connection that was given up for want of it.
      if (demand.connecting.size > 0) this.runtime.soon(() => giveUp(demand))
    }
    if (signal.aborted) left()
    else signal.addEventListener('abort', left, { once: true })
    try {
      return await go(pool)
    } finally {
      signal.removeEventListener('abort', left)
      if (!signal.aborted) demand.requests--
    }
  }

  /** Discovery has said who the members are. */
  updated(members: readonly Member[]): void {
    const current = new Set(members.map((m) => m.endpoint))
    for (const [endpoint, pool] of this.pools) if (!current.has(endpoint)) this.drop(endpoint, pool)
  }

  private drop(endpoint: Endpoint, pool: Pool): void {
    this.pools.delete(endpoint)
    const gone = () => void this.leaving.delete(pool)
    this.leaving.set(pool, pool.close().then(gone, gone))
  }

  /** Resolves when every connection is closed: when the requests that run have ended, or cut after `withinMs`. */
  async close(withinMs: number): Promise<void> {
    this.closed = true
    for (const [endpoint, pool] of this.pools) this.drop(endpoint, pool)
    const cancel = this.runtime.after(withinMs, () => this.cut(), true)
    await Promise.all(this.leaving.values())
    cancel()
  }

  private cut(): void {
    for (const pool of this.leaving.keys()) void pool.destroy().catch(() => {})
  }

  inspect(): { readonly id: string; readonly connected: number; readonly pending: number; readonly running: number }[] {
    return [...this.pools].map(([{ id }, { stats }]) => {
      const { connected, pending, running } = stats
      return { id, connected, pending, running }
    })
  }
}

/** A connector that gives up after `ms`. The timer of undici's own is coarser than what we have to wait for: half a second. */
function bounded(undici: Undici, wishes: unknown, ms: number, runtime: Runtime, demand: Demand): Connector {
  const connect = undici.buildConnector({ ...(wishes as object | undefined), timeout: 0 })
  return (options, connected) => {
    const socket = connect(options, (error, made) => {
      demand.connecting.delete(socket)
      cancel()
      connected(error, made)
    })
    const late = () => {
      const error = new Error(`no connection within ${showMs(ms)}`)
      socket.destroy(Object.assign(error, { code: 'ETIMEDOUT', syscall: 'connect' }))
    }
    const cancel = runtime.after(ms, late, true)
    demand.connecting.add(socket)
    // For a request that has left already, and was next in undici's own line.
    if (demand.requests === 0) runtime.soon(() => giveUp(demand))
    return socket
  }
}

function giveUp({ requests, connecting }: Demand): void {
  if (requests > 0) return
  for (const socket of connecting) {
    socket.destroy(Object.assign(new Error('nobody waits for the connection any more'), { code: 'ECANCELED' }))
  }
}
