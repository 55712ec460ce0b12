import { WindowedMinimum } from '../algorithms/stats/minimum.ts'
import type { Runtime } from '../core/runtime.ts'
import { Signal } from './signals/signal.ts'
import type { Sources } from './signals/sources.ts'

// How long has a request waited when its handler begins?
//
// Node does not say when its bytes came. But the loop goes in turns (timers, poll, handlers, check): what came during turn k is found by the
// poll that begins turn k + 1. So a request that is met now came at some time of the turn before, and has waited since then: for the rest of
// that turn, and for its place in this one. If the loop slept in between, it was woken by what came, and all that was found came just now. The
// clock is read when a turn with a request ends, and after it while turns are long: a loop that sleeps is not kept from it.
//
// Three facts narrow it down. A request on a connection cannot be older than the answer before it, and is mostly not much younger: clients
// take the connection first that was given back last. On connections that were answered before, requests are found in the order in which they
// came: the first of some ten came in the first tenth of the turn, however few that will have been. The first request on a connection was
// accepted a turn before it could be read.
//
// Turns of 40 ms, back to back; a request that is met 10 ms into its turn came between 10 and 50 ms ago: as the only one, 30, give or take 20;
// as the first of four, 45. On a connection that was answered 25 ms ago: between 10 and 25, and rather early: 23.5.
//
// What is not seen here: how long the kernel held a connection that nobody had accepted (accept-probe.ts), and the way through the network.

/** Turns that are shorter than this leave nothing to wait for; marking ends with the first such turn, since a mark costs the loop a round. */
const SHORT_MS = 1
/** Where between the last answer on its connection and the end of the turn a request came: in the middle, of many, 0.03 to 0.15 were measured. */
const AGAIN = 0.1
/** What remains of one turn in the next. */
const KEPT = 0.5
/** The standing delay is the least of this long: a burst has a request that waited little, a queue that stands has none. */
const WINDOW_MS = 100

/** The first request of a connection. */
export const FRESH = -1

/** Nothing is known of the connection. */
export const UNKNOWN: number = Number.NEGATIVE_INFINITY

/** How long requests wait for the loop. One for each runtime: all edges share its turns. */
export class QueueDelay {
  /** The least wait of the last 100 ms, in milliseconds. Ramp: 50 to 500 ms. */
  readonly signal: Signal
  private readonly runtime: Pick<Runtime, 'precise' | 'soon'>
  private readonly sources: Pick<Sources, 'idleMs' | 'turns'>
  private readonly least = new WindowedMinimum(WINDOW_MS)
  /** The end of this turn will be marked: the loop does not sleep before it. */
  private armed = false
  /** A request has been met in this turn. */
  private met = false
  /** When the present turn began, the one before it, and the one before that. */
  private began: number
  private before = 0
  private earlier = 0
  /** What is met in this turn came between these. */
  private from = 0
  private to = 0
  /** In this turn, on connections that were not answered during the one before; of such, and of the spans in which they came, lately. */
  private ordered = 0
  private orderedLately = 0
  private spansMs = 0
  /** How long the loop had slept when the last request was met; while turns are marked it does not. */
  private idle: number
  /** When turns were counted last, and what there was by then. */
  private countedAt: number
  private countedIdle: number
  private countedTurns: number

  constructor(runtime: Pick<Runtime, 'precise' | 'soon'>, sources: Pick<Sources, 'idleMs' | 'turns'>) {
    this.runtime = runtime
    this.sources = sources
    this.began = runtime.precise()
    this.idle = sources.idleMs()
    this.countedAt = this.began
    this.countedIdle = this.idle
    this.countedTurns = sources.turns()
    this.signal = new Signal('queue-delay', 'ms', { from: 50, to: 500 }, this.refresh)
  }

  /**
   * How long a request has waited that is met now, in milliseconds. `since`: when its connection was last answered; `FRESH`: it is the first of its connection;
   * `UNKNOWN`: others of its connection are not answered yet. `unacceptedMs`: how long its connection waited to be accepted; `now`: when it is met.
   */
  waited(since: number, unacceptedMs = 0, now: number = this.runtime.precise()): number {
    if (!this.met) this.meet(now)
    let { from, to } = this
    let at = AGAIN
    if (since === FRESH) {
      to = from
      from = Math.min(this.earlier, to)
      at = 0.5
    } else if (since > from) {
      from = since
      if (to < from) to = now
    } else at = this.place(to - from)
    const waited = Math.max(0, now - from - (to - from) * at) + unacceptedMs
    this.least.record(waited, now)
    return waited
  }

  /** Where in its span the next one of those came that are found in their order: 0 to 1. */
  private place(spanMs: number): number {
    const before = this.ordered++
    return (before + 0.5) / Math.max(before + 1, this.orderedLately * (this.spansMs > 0 ? spanMs / this.spansMs : 0))
  }

  /** The first request of a turn. */
  private meet(now: number): void {
    this.met = true
    const spanMs = this.to - this.from
    // Sums, and not a mean of rates: one call in a turn of a microsecond is no million a second.
    if (spanMs > 0) {
      this.orderedLately = this.orderedLately * KEPT + this.ordered
      this.spansMs = this.spansMs * KEPT + spanMs
    }
    this.ordered = 0
    if (this.armed) {
      this.from = this.before
      // Timers stand before the poll, other connections behind it: what ran in this turn already was the one or the other.
      this.to = (this.began + now) / 2
      return
    }
    this.armed = true
    this.runtime.soon(this.mark)
    this.from = now - this.unseen(now)
    this.to = now
    this.began = now
    this.before = this.from
    this.earlier = this.from
  }

  /** The span in which a request came that is met after turns that nobody marked. */
  private unseen(now: number): number {
    const idle = this.sources.idleMs()
    const slept = idle - this.idle
    const awake = now - this.began - slept
    this.idle = idle
    // Counted in any case: in the mean with thousands of short turns one that stood still would be none.
    const turnMs = this.turnMs(now, idle)
    return awake < SHORT_MS ? 0 : turnMs * (awake / (awake + slept))
  }

  /** How long a turn is in the mean, since they were counted last. A loop that is awake half of the time is found in one by half of what comes. */
  private turnMs(now: number, idle: number): number {
    const turns = this.sources.turns()
    const awake = Math.max(0, now - this.countedAt - (idle - this.countedIdle))
    // A Node that does not count has one turn, of which nothing is known.
    const each = turns > this.countedTurns ? awake / (turns - this.countedTurns) : 0
    this.countedAt = now
    this.countedIdle = idle
    this.countedTurns = turns
    return each
  }

  private readonly mark = (): void => {
    const now = this.runtime.precise()
    const long = now - this.began >= SHORT_MS
    this.met = false
    this.earlier = this.before
    this.before = this.began
    this.began = now
    if (long) return this.runtime.soon(this.mark)
    this.armed = false
  }

  private readonly refresh = (now: number): void => {
    this.signal.set(this.least.value(now) ?? 0, now)
  }
}
