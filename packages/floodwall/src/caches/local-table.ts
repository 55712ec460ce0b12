import { type Backoff, backoffMs } from '../algorithms/retry/backoff.ts'
import { timeoutError } from '../core/errors.ts'
import { messageOf } from '../core/event.ts'
import type { Snapshot } from '../core/gate.ts'
import type { Runtime } from '../core/runtime.ts'
import { systemRuntime } from '../core/system.ts'
import { Channel } from './channel.ts'
import { closedError } from './closed.ts'
import { type LocalTableOptions, type LocalTableSettings, localTableSettings } from './local-table-options.ts'
import { type TableMessage, tableMessage } from './messages.ts'
import { rowsOf, TableTooLargeError } from './table-rows.ts'
import { TableSnapshot } from './table-snapshot.ts'

// Why ask somebody else for what is small and seldom changes?
//
// A whole table in each process: exchange rates, cities, who is blocked. It is loaded whole, looked at whole, and swapped in one step, so that
// nobody sees half of it. What cannot be loaded, or has become too large, changes nothing: old rows are better than none, and the age is shown.
//
// every 1 min, jitter 0.1, 100 processes: a load each 0.6 s on average, never all at once.
//
// Invariant: one load at a time; a refresh ends with a load that began after it was asked for; what a reader holds never changes. Until it is
// closed the table has a timer for the next load, or a load.

/** After a failed load the next one comes within a second, then two, four ... up to `every`; with full jitter. */
const FIRST_RETRY_MS = 1000
/** Other processes that were told to refresh do so within this, each at a time of its own. */
const SPREAD_MS = 1000

/** `waiting`: nothing was loaded yet; `fresh`; `kept`: the last loads were bad. */
type TableState = 'waiting' | 'fresh' | 'kept'

/** Who wants to hear of a load. */
interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export interface RefreshOptions {
  /** The other processes are told to refresh, within a second each. Default false. */
  readonly everywhere?: boolean
}

export class LocalTable<K, V> {
  readonly kind = 'localTable'
  readonly path: string
  /** Ends with the first load: resolves, or rejects with what was wrong. Loads go on all the same. */
  readonly ready: Promise<void>
  private readonly settings: LocalTableSettings<K, V>
  private readonly runtime: Runtime
  private readonly backoff: Backoff
  private readonly channel: Channel<TableMessage>
  private current: TableSnapshot<K, V> | undefined
  private weight = 0
  private state: TableState = 'waiting'
  /** What ends the present load's claim, and aborts it; undefined between loads. */
  private loading: AbortController | undefined
  /** Those who wait for the present load, and for the next. */
  private waiters: Waiter[] = []
  private next: Waiter[] = []
  private cancelTimer: () => void = () => {}
  private cancelSpread: (() => void) | undefined
  private loads = 0
  private failures = 0
  private tooLarge = 0
  /** Failures since the last good load. */
  private inRow = 0
  private fault = ''
  private ended = false

  constructor(options: LocalTableOptions<K, V>, runtime: Runtime = systemRuntime) {
    this.settings = localTableSettings(options)
    const { name, broadcast, every } = this.settings
    this.path = name
    this.runtime = runtime
    this.backoff = { first: Math.min(FIRST_RETRY_MS, every), factor: 2, atMost: every }
    this.channel = new Channel<TableMessage>({
      ...{ broadcast, runtime, schema: tableMessage, topic: `floodwall/localTable/${name}` },
      heard: () => this.refreshSoon(),
    })
    this.ready = this.refresh()
    // Who does not look at it has asked for no unhandled rejection.
    this.ready.catch(() => {})
  }

  /** The table as it is now. Throws before the first load has ended well: await {@link ready}. */
  snapshot(): TableSnapshot<K, V> {
    if (this.current === undefined) {
      const why = this.fault === '' ? 'await its `ready`' : this.fault
      throw new Error(`${this.path} is not loaded yet: ${why}`)
    }
    return this.current
  }

  get(key: K): V | undefined {
    return this.snapshot().get(key)
  }

  has(key: K): boolean {
    return this.snapshot().has(key)
  }

  entries(): IterableIterator<[K, V]> {
    return this.snapshot().entries()
  }

  get size(): number {
    return this.snapshot().size
  }

  /** 0 before the first load has ended well, then 1, 2, 3 ... */
  get version(): number {
    return this.current?.version ?? 0
  }

  /** Since the last good load, in milliseconds; Infinity before the first. */
  get ageMs(): number {
    return this.current === undefined ? Number.POSITIVE_INFINITY : this.runtime.now() - this.current.loadedAt
  }

  /**
   * Loads now. Resolves when a load that began after this has ended well, and rejects with what was wrong with it. However many ask while one runs:
   * one follows it.
   */
  refresh({ everywhere = false }: RefreshOptions = {}): Promise<void> {
    if (this.ended) return Promise.reject(closedError(this.kind, this.path))
    if (everywhere) this.channel.say({ do: 'refresh' })
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject }
      if (this.loading !== undefined) this.next.push(waiter)
      else {
        this.waiters.push(waiter)
        this.load()
      }
    })
  }

  /** Another process said so: a hundred that heard it must not ask the source in one moment. */
  private refreshSoon(): void {
    if (this.ended || this.cancelSpread !== undefined) return
    const spread = Math.min(SPREAD_MS, this.settings.every)
    const go = () => {
      this.cancelSpread = undefined
      this.refresh().catch(() => {})
    }
    this.cancelSpread = this.runtime.after(spread * this.runtime.random(), go, true)
  }

  private load(): void {
    const { within, load } = this.settings
    const { runtime, path } = this
    this.cancelTimer()
    this.loads++
    const controller = new AbortController()
    this.loading = controller
    const timedOut = () => {
      const error = timeoutError('timeout', path, within)
      this.end(controller, () => this.failed(error))
      controller.abort(error)
    }
    this.cancelTimer = runtime.after(within, timedOut, true)
    const threw = (error: unknown) => this.end(controller, () => this.failed(error))
    try {
      Promise.resolve(load(controller.signal)).then((rows) => this.end(controller, () => this.take(rows)), threw)
    } catch (error) {
      threw(error)
    }
  }

  /** A load has ended, unless that was known already. `judge` says what was wrong with it. */
  private end(controller: AbortController, judge: () => unknown): void {
    if (this.loading !== controller) return
    this.cancelTimer()
    const fault = judge()
    // Who was told of it may have closed the table.
    if (this.ended) return
    this.loading = undefined
    const { waiters } = this
    this.waiters = this.next
    this.next = []
    if (this.waiters.length > 0) this.load()
    else this.cancelTimer = this.runtime.after(this.pauseMs(), () => this.load(), true)
    for (const { resolve, reject } of waiters) {
      if (fault === undefined) resolve()
      else reject(fault)
    }
  }

  private pauseMs(): number {
    const { every, jitter } = this.settings
    const dice = this.runtime.random()
    return this.inRow > 0 ? backoffMs(this.backoff, this.inRow, dice) : every * (1 + jitter * (2 * dice - 1))
  }

  private take(source: Iterable<readonly [K, V]>): unknown {
    const { most, weigh, mostWeight = 0 } = this.settings
    try {
      const { rows, weight } = rowsOf(source, { most, weigh, mostWeight })
      this.current = new TableSnapshot(rows, this.version + 1, this.runtime.now())
      this.weight = weight
    } catch (error) {
      return this.failed(error)
    }
    this.inRow = 0
    this.fault = ''
    this.enter('fresh', `${this.current.size} rows`)
    return undefined
  }

  private failed(error: unknown): unknown {
    this.failures++
    this.inRow++
    this.fault = messageOf(error)
    const first = this.inRow === 1
    if (error instanceof TableTooLargeError) {
      this.tooLarge++
      this.warn(`${this.fault}, and is refused`)
    } else if (first && this.state === 'waiting') this.warn(`nothing is loaded yet: ${this.fault}`)
    if (this.state === 'fresh') this.enter('kept', `${this.fault}; the last good rows are kept`)
    return error
  }

  private enter(to: TableState, why: string): void {
    const from = this.state
    if (to === from) return
    this.state = to
    this.runtime.emit({ type: 'state', at: this.runtime.now(), path: this.path, from, to, why })
  }

  private warn(why: string): void {
    this.runtime.emit({ type: 'warning', at: this.runtime.now(), path: this.path, why })
  }

  /** No load any more; who waits for one hears so. The last good rows can be read on. Twice is harmless. */
  close(): void {
    if (this.ended) return
    this.ended = true
    this.channel.close()
    this.cancelTimer()
    this.cancelSpread?.()
    const error = closedError(this.kind, this.path)
    const { loading } = this
    this.loading = undefined
    for (const { reject } of [...this.waiters, ...this.next]) reject(error)
    this.waiters = []
    this.next = []
    loading?.abort(error)
  }

  /** After {@link close}. */
  get closed(): boolean {
    return this.ended
  }

  /** Whether `everywhere` reaches anybody: there is a broadcast. */
  get hasBroadcast(): boolean {
    return this.channel.isOpen
  }

  /** What is, now: JSON-safe. `ageMs` is null before the first load. */
  inspect(): Snapshot {
    const { kind, path, state, version, weight, loads, failures, tooLarge, fault } = this
    const ageMs = this.current === undefined ? null : this.ageMs
    const rows = this.current?.size ?? 0
    return {
      ...{ kind, path, state, version, rows, weight, ageMs, loads, failures, tooLarge, fault },
      broadcast: this.channel.counts(),
    }
  }
}

/** A small table in this process: `localTable({ load: (signal) => db.cities(signal), every: '1m' })`. Throws a ConfigError on bad options. */
export function localTable<K, V>(options: LocalTableOptions<K, V>, runtime?: Runtime): LocalTable<K, V> {
  return new LocalTable(options, runtime)
}
