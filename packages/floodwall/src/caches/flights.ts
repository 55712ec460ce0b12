import { Aborts } from '../core/aborts.ts'
import { timeoutError } from '../core/errors.ts'
import type { Env } from '../core/runtime.ts'

// How do ten thousand who ask for one key cause one load?
//
// Source: single-flight, as in groupcache (Fitzpatrick, 2013). The first who asks begins a load, whoever asks meanwhile waits with him, and all
// hear the same. Who leaves takes nobody with him; with the last one the load is aborted.
//
// A load knows what was there when it began, and not what came later. So a key can be detached from its load: those who wait still hear the
// answer, it is as old as their question; who asks from now on begins a load of his own; and the old answer is not kept.
//
// Invariant: a load lands once, by its answer, its time or an abort; its timer and the listeners of those who wait are gone then. A key has at
// most one load that is not detached.

/** How a load ended. */
export type Landing<V> = { readonly ok: true; readonly value: V } | { readonly ok: false; readonly error: unknown }

/** Hears of the landing, once. */
export type Landed<V> = (landing: Landing<V>) => void

/** What loads a key. `signal` is aborted when nobody waits any more, when it takes too long, and at the end of the cache. */
export type Load<K, V> = (key: K, about: { readonly signal: AbortSignal }) => V | PromiseLike<V>

export interface FlightOptions<K, V> {
  readonly load: Load<K, V>
  /** The longest a load may take. */
  readonly withinMs: number
  readonly env: Env
  /** Called before those who wait, for each load that was neither detached nor left by all. */
  readonly landed: (flight: Flight<K, V>, landing: Landing<V>) => void
}

/** What one can leave. */
interface Leavable<V> {
  leave(seat: Seat<V>, reason: unknown): void
}

/** One who waits. */
class Seat<V> {
  readonly landed: Landed<V>
  readonly signal: AbortSignal | undefined
  private readonly flight: Leavable<V>

  constructor(flight: Leavable<V>, landed: Landed<V>, signal: AbortSignal | undefined) {
    this.flight = flight
    this.landed = landed
    this.signal = signal
  }

  /** He leaves. */
  cancel(reason: unknown): void {
    this.flight.leave(this, reason)
  }
}

export class Flight<K, V> {
  readonly key: K
  /** How long the answer is to be kept, in milliseconds, hot or not: the longest that was asked for; 0: as the cache decides. */
  keepMs = 0
  private readonly flights: Flights<K, V>
  private readonly seats = new Set<Seat<V>>()
  private readonly controller = new AbortController()
  private cancelTimer: () => void = () => {}
  private over = false

  constructor(key: K, flights: Flights<K, V>) {
    this.key = key
    this.flights = flights
  }

  /** @internal */
  start({ load, withinMs, env }: FlightOptions<K, V>): void {
    this.cancelTimer = env.after(withinMs, () => this.cut(timeoutError('timeout', env.path, withinMs)))
    const { signal } = this.controller
    const threw = (error: unknown) => this.land({ ok: false, error })
    try {
      Promise.resolve(load(this.key, { signal })).then((value) => this.land({ ok: true, value }), threw)
    } catch (error) {
      threw(error)
    }
  }

  /** Waits for the landing, until `signal` is aborted. */
  join(landed: Landed<V>, signal?: AbortSignal): void {
    const seat = new Seat(this, landed, signal)
    this.seats.add(seat)
    if (signal !== undefined) this.flights.ears.add(signal, seat)
  }

  /** @internal */
  leave(seat: Seat<V>, reason: unknown): void {
    if (!this.seats.delete(seat)) return
    this.free(seat)
    if (this.seats.size === 0) this.end(reason)
    seat.landed({ ok: false, error: reason })
  }

  /** Ends the load before its time: who waits hears of `error`, and so does the cache. */
  private cut(error: unknown): void {
    this.land({ ok: false, error })
    this.controller.abort(error)
  }

  private land(landing: Landing<V>): void {
    if (this.over) return
    this.over = true
    this.cancelTimer()
    this.flights.landed(this, landing)
    this.tell(landing)
  }

  private tell(landing: Landing<V>): void {
    const seats = [...this.seats]
    this.seats.clear()
    for (const seat of seats) {
      this.free(seat)
      seat.landed(landing)
    }
  }

  private free(seat: Seat<V>): void {
    if (seat.signal !== undefined) this.flights.ears.delete(seat.signal, seat)
  }

  /** @internal Ends it for `reason`, which is no evidence about the key: who waits hears of it, the cache does not. */
  end(reason: unknown): void {
    if (this.over) return
    this.over = true
    this.cancelTimer()
    this.flights.ended(this)
    this.tell({ ok: false, error: reason })
    this.controller.abort(reason)
  }
}

export class Flights<K, V> {
  /** Loads that were begun. */
  loads = 0
  /** @internal */ readonly ears: Aborts = new Aborts()
  private readonly options: FlightOptions<K, V>
  private readonly running = new Set<Flight<K, V>>()
  private readonly byKey = new Map<K, Flight<K, V>>()

  constructor(options: FlightOptions<K, V>) {
    this.options = options
  }

  /** Loads that run now, detached ones too. */
  get size(): number {
    return this.running.size
  }

  /** The load of `key` that an asker of now may join. */
  of(key: K): Flight<K, V> | undefined {
    return this.byKey.get(key)
  }

  /** Begins a load of `key`, with one who waits: without him it would be left by all at once. */
  begin(key: K, landed: Landed<V>, signal?: AbortSignal): Flight<K, V> {
    const flight = new Flight(key, this)
    this.loads++
    this.running.add(flight)
    this.byKey.set(key, flight)
    flight.join(landed, signal)
    flight.start(this.options)
    return flight
  }

  /** What `key` loads now is out of date: it is not kept, and nobody joins it any more. */
  detach(key: K): void {
    this.byKey.delete(key)
  }

  detachAll(): void {
    this.byKey.clear()
  }

  /** @internal */
  landed(flight: Flight<K, V>, landing: Landing<V>): void {
    const current = this.byKey.get(flight.key) === flight
    this.ended(flight)
    if (current) this.options.landed(flight, landing)
  }

  /** @internal */
  ended(flight: Flight<K, V>): void {
    this.running.delete(flight)
    if (this.byKey.get(flight.key) === flight) this.byKey.delete(flight.key)
  }

  /** Ends every load: who waits hears of `error`. */
  close(error: unknown): void {
    for (const flight of [...this.running]) flight.end(error)
  }
}
