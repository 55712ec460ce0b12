import { type Admin, type AdminOptions, admin } from 'floodwall/admin'
import { type Broadcast, type HotCache, hotCache, type LocalTable, localTable } from 'floodwall/caches'
import { VirtualRuntime } from 'floodwall/testing'
import { type Answer, type Asked, ask, asking } from '../adapters/client.ts'

export const TOKEN = 'correct-horse-battery-staple'

/** A load that the test ends. */
export interface Pending<V> {
  readonly signal: AbortSignal
  readonly answer: (value: V) => void
  readonly fail: (error: unknown) => void
}

type Rows = Iterable<readonly [string, number]>

/** One process: a cache, a table, and the page of its operators on a real port, in virtual time. It ends with its block. */
export class Office {
  readonly world: VirtualRuntime
  /** Loads of the cache by key, and of the table. */
  readonly loads: ({ readonly key: string } & Pending<string>)[] = []
  readonly refreshes: Pending<Rows>[] = []
  readonly cache: HotCache<string, string>
  readonly table: LocalTable<string, number>
  readonly page: Admin
  port = 0

  constructor(options: Partial<AdminOptions> = {}, broadcast?: Broadcast, world = new VirtualRuntime({ seed: 5 })) {
    this.world = world
    const shared = broadcast === undefined ? {} : { broadcast }
    const load = (key: string, { signal }: { signal: AbortSignal }) =>
      new Promise<string>((answer, fail) => this.loads.push({ key, signal, answer, fail }))
    this.cache = hotCache<string, string>({ load, ttl: '10s', jitter: 0, name: 'items', ...shared }, world)
    const rows = (signal: AbortSignal) =>
      new Promise<Rows>((answer, fail) => this.refreshes.push({ signal, answer, fail }))
    this.table = localTable<string, number>({ load: rows, jitter: 0, every: '1h', name: 'rates', ...shared }, world)
    // Who does not wait for it has asked for no unhandled rejection.
    this.table.ready.catch(() => {})
    const registered = { caches: { items: this.cache }, tables: { rates: this.table } }
    this.page = admin({ token: TOKEN, ...registered, ...options }, world)
  }

  /** Listens, with a table that is loaded. */
  async open(): Promise<this> {
    this.port = Number(new URL(await this.page.listen({ port: 0 })).port)
    await this.answerTable([['EUR', 1]])
    this.world.events.length = 0
    return this
  }

  asked(method: string, path: string, { body, headers }: { body?: unknown; headers?: object } = {}): Asked {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const type =
      text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const all = { authorization: `Bearer ${TOKEN}`, ...type, ...headers }
    return {
      port: this.port,
      method,
      path,
      headers: all,
      ...(text === undefined ? {} : { body: text }),
    }
  }

  get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return ask(this.asked('GET', path, { headers }))
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return ask(this.asked('POST', path, { body }))
  }

  /** A question whose client may leave. */
  posting(path: string, body: unknown): ReturnType<typeof asking> {
    return asking(this.asked('POST', path, { body }))
  }

  /** What `path` shows. */
  async seen(path: string): Promise<Record<string, unknown>> {
    return fieldsOf(await this.get(path))
  }

  async answerTable(rows: Rows): Promise<void> {
    this.refreshes.shift()?.answer(rows)
    await this.world.settle()
  }

  get steered(): string[] {
    return this.world.events.flatMap((event) =>
      event.type === 'steered' ? [`${event.path} ${event.action}: ${event.why}`] : [],
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cache.close()
    this.table.close()
    await this.page.close()
  }
}

export function fieldsOf({ body }: Answer): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>
}
