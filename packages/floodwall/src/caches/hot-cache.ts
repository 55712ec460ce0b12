import type { SketchKey } from '../algorithms/sketches/top-k.ts'
import type { Duration } from '../core/duration.ts'
import type { Snapshot } from '../core/gate.ts'
import { type Env, envOf, type Runtime } from '../core/runtime.ts'
import { parse, positiveSpan } from '../core/schema.ts'
import { systemRuntime } from '../core/system.ts'
import { Channel } from './channel.ts'
import { closedError } from './closed.ts'
import { Entries, Entry } from './entries.ts'
import { type Flight, Flights, type Landed, type Landing } from './flights.ts'
import { Heat } from './heat.ts'
import { type HotCacheOptions, type HotCacheSettings, hotCacheSettings } from './hot-cache-options.ts'
import { type CacheMessage, cacheMessage } from './messages.ts'
import { type Chore, type Fate, type Warmed, WarmUp } from './warm-up.ts'

// How does one hot item not take its database down?
//
// Copies of what is asked for most, in the process that is asked. Only hot keys are kept: a cache of everything would throw out what is hot for
// what is rare. Many who miss at once cause one load (flights.ts). Values expire at times of their own, so that a cache that was filled in one
// moment is not emptied in one.
//
// ttl 10 s, jitter 0.1, an item at 1000 a second on 50 processes: 50,000 questions a second become about 5.
//
// Invariant: an answer whose key was deleted or invalidated after its load began is not kept; of a key's loads a later one is never overwritten
// by an earlier one. A value is given at most ttl + stale after its load has ended.

/** A source that fails is not asked more often than this for a key that has a stale value. */
const REFILL_PAUSE_MS = 1000

const nobody: Landed<unknown> = () => {}

export interface WarmOptions {
  /** What is not begun yet when it is aborted is skipped; what runs is aborted, if nobody else waits for it. */
  readonly signal?: AbortSignal
  /** Called after each key. */
  readonly progress?: (so: Warmed) => void
  /** The other processes are told to warm the same keys, each for itself. Default false. */
  readonly everywhere?: boolean
}

export class HotCache<K extends SketchKey, V> {
  readonly kind = 'hotCache'
  readonly path: string
  private readonly settings: HotCacheSettings<K, V>
  private readonly env: Env
  private readonly heat: Heat<K>
  private readonly entries: Entries<K, V>
  private readonly flights: Flights<K, V>
  private readonly warming: WarmUp<K>
  private readonly channel: Channel<CacheMessage>
  private readonly counts = { hits: 0, misses: 0, coalesced: 0, stale: 0, promoted: 0, failures: 0 }
  private ended = false

  constructor(options: HotCacheOptions<K, V>, runtime: Runtime = systemRuntime) {
    const settings = hotCacheSettings(options)
    const { max, mostWeight = 0, load, within, parallel, name, broadcast } = settings
    this.settings = settings
    this.path = name
    this.env = envOf(runtime, name)
    const { env } = this
    this.heat = new Heat<K>(settings, env)
    this.entries = new Entries<K, V>(max, mostWeight)
    this.flights = new Flights<K, V>({ load, withinMs: within, env, landed: (f, landing) => this.landed(f, landing) })
    this.warming = new WarmUp<K>(parallel, max, (chore, done) => this.warmOne(chore, done))
    this.channel = new Channel<CacheMessage>({
      ...{ broadcast, runtime, schema: cacheMessage, topic: `floodwall/hotCache/${name}` },
      heard: (message) => this.heard(message),
    })
  }

  /**
   * The value of `key`: kept, or loaded. Rejects with what `load` throws, with a `TimeoutError` when that takes too long, with the reason of
   * `signal` when that is aborted, with a `RejectedError` when the cache is closed.
   */
  get(key: K, { signal }: { readonly signal?: AbortSignal } = {}): Promise<V> {
    if (this.ended) return Promise.reject(closedError(this.kind, this.path))
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    const now = this.env.now()
    this.heat.add(key, now)
    const entry = this.entries.peek(key)
    if (entry === undefined || now >= entry.staleUntil) return this.miss(key, signal)
    entry.used = true
    if (now < entry.until) this.counts.hits++
    else {
      this.counts.stale++
      if (now >= entry.refillAt && this.flights.of(key) === undefined) this.flights.begin(key, nobody)
    }
    const { answer } = entry
    return answer.ok ? Promise.resolve(answer.value) : Promise.reject(answer.error)
  }

  private miss(key: K, signal: AbortSignal | undefined): Promise<V> {
    this.counts.misses++
    return new Promise((resolve, reject) => {
      this.load(key, (landing) => (landing.ok ? resolve(landing.value) : reject(landing.error)), signal)
    })
  }

  /** Waits for the load of `key` that runs, or begins one. */
  private load(key: K, landed: Landed<V>, signal: AbortSignal | undefined): Flight<K, V> {
    const flight = this.flights.of(key)
    if (flight === undefined) return this.flights.begin(key, landed, signal)
    this.counts.coalesced++
    flight.join(landed, signal)
    return flight
  }

  /** A load has ended, and nothing has made it out of date. */
  private landed({ key, keepMs }: Flight<K, V>, landing: Landing<V>): void {
    const now = this.env.now()
    const { negative, ttl } = this.settings
    const wanted = keepMs > 0 || this.heat.isHot(key, now)
    if (landing.ok && wanted) return this.keep(key, landing, keepMs > 0 ? keepMs : ttl, now)
    if (!landing.ok) {
      this.counts.failures++
      if (this.postpone(key, now)) return
      if (negative !== undefined && wanted) return this.put(key, landing, this.jittered(negative), 0, 0, now)
    }
    this.entries.delete(key)
  }

  private keep(key: K, landing: Landing<V> & { readonly ok: true }, ttlMs: number, now: number): void {
    const weight = this.weightOf(landing.value, key)
    this.put(key, landing, this.jittered(ttlMs), this.settings.stale ?? 0, weight, now)
  }

  private put(key: K, answer: Landing<V>, freshMs: number, staleMs: number, weight: number, now: number): void {
    const isNew = this.entries.peek(key) === undefined
    const until = now + freshMs
    if (this.entries.set(key, new Entry(answer, until, until + staleMs, weight)) && isNew) this.counts.promoted++
  }

  /** True for a value that still serves: it does until it is too old, and its source has a pause. */
  private postpone(key: K, now: number): boolean {
    const entry = this.entries.peek(key)
    if (entry === undefined || now >= entry.staleUntil || !entry.answer.ok) return false
    entry.refillAt = now + REFILL_PAUSE_MS
    return true
  }

  private jittered(ms: number): number {
    return ms * (1 - this.settings.jitter * this.env.random())
  }

  /** What cannot be weighed is too heavy. */
  private weightOf(value: V, key: K): number {
    const { weigh } = this.settings
    if (weigh === undefined) return 0
    try {
      const weight: unknown = weigh(value, key)
      return typeof weight === 'number' && weight >= 0 ? weight : Number.POSITIVE_INFINITY
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }

  /** Forgets `key`, here. What is being loaded for it is given to those who wait, and not kept. True when something was kept. */
  delete(key: K): boolean {
    this.flights.detach(key)
    return this.entries.delete(key)
  }

  /** Forgets `keys`, here and in every process that shares the broadcast. */
  invalidate(...keys: readonly K[]): void {
    for (const key of keys) this.delete(key)
    this.channel.sayKeys(keys, (some) => ({ do: 'invalidate', keys: some }))
  }

  /** Forgets everything, here. */
  clear(): void {
    this.flights.detachAll()
    this.entries.clear()
  }

  /**
   * Loads `keys`, a few at once, and keeps them for `ttl`, hot or not. At most `max` keys wait; the others are skipped. Resolves to what became
   * of them, and never rejects.
   */
  warm(
    keys: readonly K[],
    ttl?: Duration,
    { signal, progress, everywhere = false }: WarmOptions = {},
  ): Promise<Warmed> {
    const ttlMs = ttl === undefined ? this.settings.ttl : parse(positiveSpan, ttl, `${this.path}.warm.ttl`)
    if (everywhere) this.channel.sayKeys(keys, (some) => ({ do: 'warm', keys: some, ttlMs }))
    return this.warming.add(keys, ttlMs, signal, progress)
  }

  private warmOne({ key, ttlMs, signal }: Chore<K>, done: (fate: Fate) => void): void {
    const entry = this.entries.peek(key)
    // Jitter counts as the whole: else no value would ever be fresh for long enough.
    const least = ttlMs * (1 - this.settings.jitter)
    if (entry?.answer.ok === true && entry.until - this.env.now() >= least) return done('warmed')
    // It may be too heavy, or out of date already.
    const landed = ({ ok }: Landing<V>) => done(ok && this.entries.peek(key) !== undefined ? 'warmed' : 'failed')
    const flight = this.load(key, landed, signal)
    flight.keepMs = Math.max(flight.keepMs, ttlMs)
  }

  private heard(message: CacheMessage): void {
    if (this.ended) return
    const keys = message.keys as readonly K[]
    if (message.do === 'invalidate') for (const key of keys) this.delete(key)
    else void this.warming.add(keys, message.ttlMs)
  }

  /** Ends every load, wait and subscription. Twice is harmless. */
  close(): void {
    if (this.ended) return
    this.ended = true
    this.channel.close()
    this.warming.close()
    this.flights.close(closedError(this.kind, this.path))
    this.entries.clear()
  }

  /** After {@link close}. */
  get closed(): boolean {
    return this.ended
  }

  /** Whether `everywhere` reaches anybody: there is a broadcast. */
  get hasBroadcast(): boolean {
    return this.channel.isOpen
  }

  /** What is, now: JSON-safe. */
  inspect(): Snapshot {
    const { kind, path, entries, flights, warming, counts, channel } = this
    const { size, weight, evicted } = entries
    const loads = { loads: flights.loads, loading: flights.size, warming: warming.waiting }
    return { kind, path, entries: size, weight, evicted, ...counts, ...loads, broadcast: channel.counts() }
  }

  /** The most frequent keys, hot or not: at most `k`. */
  hottest(): ReturnType<Heat<K>['list']> {
    return this.heat.list(this.env.now())
  }
}

/** A local cache for hot keys: `hotCache({ load: (id, { signal }) => db.item(id, signal), ttl: '10s' })`. Throws a ConfigError on bad options. */
export function hotCache<K extends SketchKey, V>(options: HotCacheOptions<K, V>, runtime?: Runtime): HotCache<K, V> {
  return new HotCache(options, runtime)
}
