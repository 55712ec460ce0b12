import type { Env } from '../../core/runtime.ts'
import type { Resilience4jEvent, Resilience4jListener } from './event.ts'
import {
  FAILURE_RATE,
  type Metrics,
  metricsOf,
  minimumOf,
  NOT_ENOUGH,
  type Resilience4jMetrics,
  SLOW_RATE,
  sameWindow,
} from './metrics.ts'
import type { Resilience4jResult, Resilience4jSettings, Resilience4jState } from './options.ts'
import { FAILED, SLOW } from './window.ts'

// Is what we call broken, as resilience4j would say?
//
// A replica of its circuit breaker (commit af9e7c9), for those who tuned its options: six states, two kinds of window, attempt numbers,
// evaluation after every result. A result counts in the state that it meets, whoever asked for the call: late ones decide, as there.
//
// Its defaults: 99 failures pass, the 100th opens; at 60 s a call is still refused, at 60.001 s ten probes pass, and ten results decide.
//
// Invariant: given the same calls at the same milliseconds, every answer, state, number and event is resilience4j's, but for its defects, which
// are put right here. A timer belongs to the state that set it, so that a reset leaves none behind; a window of 0 calls takes a late result
// without a division; a user's function that throws poisons nothing; time does not run backwards; and a half-open state without a limit, whose
// probes were never reported on, lends them again. What a timer does there is compared here when somebody asks, at its own time.

/** Its default wait, for an interval function that answers with no number. */
const DEFAULT_WAIT_MS = 60_000

/** Half-open without a limit: nobody has reported for so long, or for the time that is called slow if that is longer, so nobody will. */
const SILENT_MS = 60_000

/** OPEN and HALF_OPEN may alternate by timers alone. What nobody has looked at for longer than this is not told turn by turn. */
const MOST_TURNS = 1000

const UNLAWFUL: ReadonlySet<string> = new Set(['CLOSED>HALF_OPEN', 'METRICS_ONLY>OPEN', 'METRICS_ONLY>HALF_OPEN'])

export class Resilience4jCircuitBreaker {
  readonly path: string
  protected readonly env: Env
  protected settings: Resilience4jSettings
  protected at: Resilience4jState
  protected openUntil = 0
  /** The latest time that was told. */
  private newest: number
  private attempts = 0
  private metered: Metrics
  /** When this state ends by itself. */
  private dueAt = Number.POSITIVE_INFINITY
  /** Permissions left, and when a probe was last heard of: only while half-open. */
  private left = 0
  private heardAt = 0
  /** Rates that METRICS_ONLY has told of. */
  private told = 0
  private listeners: readonly Resilience4jListener[] = []

  constructor(settings: Resilience4jSettings, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = settings
    this.newest = env.now()
    this.at = 'CLOSED'
    this.metered = metricsOf('CLOSED', settings, this.newest)
    // No event, as there.
    if (settings.initialState !== 'CLOSED') this.become(settings.initialState, this.newest)
    if (settings.initialState === 'HALF_OPEN') this.attempts = 1
  }

  state(now: number): Resilience4jState {
    this.tick(now)
    return this.at
  }

  metrics(now: number): Resilience4jMetrics {
    // First, since it may change the window.
    const at = this.tick(now)
    return this.metered.read(at)
  }

  protected failureRate(now: number): number {
    const at = this.tick(now)
    return this.metered.rate(FAILED, at)
  }

  /** Openings in a row: 0 while closed. */
  get attempt(): number {
    return this.attempts
  }

  tryAcquirePermission(now: number): boolean {
    const at = this.tick(now)
    const permitted = this.permit(at)
    if (!permitted) this.tell({ type: 'NOT_PERMITTED', at })
    return permitted
  }

  /** Nothing ran. Half-open, the permission goes back, whoever had it. */
  releasePermission(now: number): void {
    this.heardAt = this.tick(now)
    if (this.at === 'HALF_OPEN') this.left++
  }

  /** A good result. `result` is asked about its transition, if it is given. */
  onSuccess(durationMs: number, now: number, result?: Resilience4jResult): void {
    const at = this.tick(now)
    this.tell({ type: 'SUCCESS', durationMs, at })
    this.record(false, durationMs, at)
    if (result !== undefined) this.judge(result, at)
  }

  /** A recorded error. */
  onError(durationMs: number, now: number, result?: Resilience4jResult): void {
    const at = this.tick(now)
    this.tell({ type: 'ERROR', durationMs, at })
    this.record(true, durationMs, at)
    if (result !== undefined) this.judge(result, at)
  }

  /** An error that is no evidence. */
  onIgnoredError(now: number): void {
    this.releasePermission(now)
    this.tell({ type: 'IGNORED_ERROR', at: this.newest })
  }

  /** By hand. Throws RangeError, and changes nothing, from CLOSED to HALF_OPEN and from METRICS_ONLY to either of OPEN and HALF_OPEN. */
  transitionTo(to: Resilience4jState, now: number): void {
    this.turn(to, this.tick(now))
  }

  /** OPEN for so long, whatever the configured wait; the attempt does not count. Throws RangeError for what is no number, too. */
  transitionToOpenStateFor(waitMs: number, now: number): void {
    const at = this.tick(now)
    this.turn('OPEN', at, at + waitMs)
  }

  /** OPEN until then, in milliseconds of the epoch (see `epochMs`). */
  transitionToOpenStateUntil(epochMs: number, now: number): void {
    this.turn('OPEN', this.tick(now), epochMs - this.settings.epochMs)
  }

  /** CLOSED, with an empty window, from any state. */
  reset(now: number): void {
    const at = this.tick(now)
    this.turn('CLOSED', at)
    this.tell({ type: 'RESET', at })
  }

  /** Hears of every call and every change; returns the way to stop. */
  onEvent(listener: Resilience4jListener): Disposable {
    const entry: Resilience4jListener = (event) => listener(event)
    this.listeners = [...this.listeners, entry]
    return { [Symbol.dispose]: () => void (this.listeners = this.listeners.filter((other) => other !== entry)) }
  }

  /** Other settings, same state; the results stay if the window is the same. There it takes a new breaker. */
  reconfigure(settings: Resilience4jSettings): void {
    const before = this.settings
    this.settings = settings
    // Probes that are out decide by the settings under which they went, and a window of 0 calls stays one.
    if (this.at !== 'CLOSED' && this.at !== 'OPEN' && this.at !== 'METRICS_ONLY') return
    this.metered = sameWindow(before, settings)
      ? this.metered.under(minimumOf(settings), settings)
      : metricsOf('CLOSED', settings, this.newest)
  }

  /** Time, which does not run backwards here, and what timers have done meanwhile. */
  protected tick(now: number): number {
    if (now > this.newest && now < Infinity) this.newest = now
    for (let turns = 0; this.dueAt <= this.newest && turns <= MOST_TURNS; turns++) {
      const at = turns < MOST_TURNS ? this.dueAt : this.newest
      this.turn(this.at === 'OPEN' ? 'HALF_OPEN' : this.settings.transitionToStateAfterWaitDuration, at)
    }
    return this.newest
  }

  private permit(at: number): boolean {
    if (this.at === 'OPEN' && at > this.openUntil) this.turn('HALF_OPEN', at)
    // Asked anew: a listener may have steered it elsewhere.
    const permitted = this.at === 'HALF_OPEN' ? this.lend(at) : this.at !== 'OPEN' && this.at !== 'FORCED_OPEN'
    if (!permitted) this.metered.notPermitted++
    return permitted
  }

  private lend(at: number): boolean {
    const { maxWaitDurationInHalfOpenState, slowCallDurationThreshold, permittedNumberOfCallsInHalfOpenState } =
      this.settings
    if (this.left <= 0) {
      const silent = at - this.heardAt >= Math.max(SILENT_MS, slowCallDurationThreshold)
      if (maxWaitDurationInHalfOpenState > 0 || !silent) return false
      this.left = permittedNumberOfCallsInHalfOpenState - this.metered.calls(at)
      this.env.emit({ type: 'lapsed', at, path: this.path, why: `${this.left} probe(s) were not reported on` })
    }
    this.heardAt = at
    this.left--
    return true
  }

  private record(failed: boolean, durationMs: number, at: number): void {
    const state = this.at
    if (state === 'DISABLED' || state === 'FORCED_OPEN') return
    this.heardAt = at
    const exceeded = this.metered.record(failed, durationMs, at)
    if (exceeded === NOT_ENOUGH || state === 'OPEN') return
    if (state === 'HALF_OPEN') this.turn(exceeded > 0 ? 'OPEN' : 'CLOSED', at)
    else if (state === 'METRICS_ONLY') this.tellExceeded(exceeded & ~this.told, at)
    else if (exceeded > 0) {
      this.tellExceeded(exceeded, at)
      // A listener may have steered it elsewhere.
      if (this.at === 'CLOSED') this.turn('OPEN', at)
    }
  }

  private tellExceeded(rates: number, at: number): void {
    this.told |= rates
    const { metered } = this
    if ((rates & FAILURE_RATE) !== 0) this.tell({ type: 'FAILURE_RATE_EXCEEDED', rate: metered.rate(FAILED, at), at })
    if ((rates & SLOW_RATE) !== 0) this.tell({ type: 'SLOW_CALL_RATE_EXCEEDED', rate: metered.rate(SLOW, at), at })
  }

  private judge(result: Resilience4jResult, at: number): void {
    const { transitionOnResult } = this.settings
    if (transitionOnResult === undefined || this.at !== 'CLOSED') return
    try {
      const to = transitionOnResult(result)
      if (to === undefined || to === false) return
      const until = to === true ? undefined : 'waitMs' in to ? at + to.waitMs : to.untilMs - this.settings.epochMs
      // Who asks to open and says no time means the usual one.
      this.turn('OPEN', at, Number.isFinite(until) ? until : undefined)
    } catch (error) {
      this.warn('transitionOnResult', error, at)
    }
  }

  private turn(to: Resilience4jState, at: number, openUntil?: number): void {
    const from = this.at
    if (UNLAWFUL.has(`${from}>${to}`)) throw new RangeError(`${this.path}: there is no way from ${from} to ${to}`)
    // NaN would never be over.
    if (!Number.isFinite(openUntil ?? 0))
      throw new RangeError(`${this.path}: OPEN until ${openUntil}, expected milliseconds`)
    const { metered } = this
    this.become(to, at, openUntil)
    if (from === to) return
    this.tell({ type: 'STATE_TRANSITION', from, to, at })
    const why = `attempt ${this.attempts}; ${metered.explain(at)}`
    this.env.emit({ type: 'state', at, path: this.path, from, to, why })
  }

  /** Whole before anybody hears of it. */
  private become(to: Resilience4jState, at: number, openUntil?: number): void {
    const { settings } = this
    const counts = to === 'FORCED_OPEN' || (to === 'OPEN' && openUntil === undefined)
    const attempts = counts ? this.attempts + 1 : to === 'OPEN' || to === 'HALF_OPEN' ? this.attempts : 0
    const until = to === 'OPEN' ? (openUntil ?? at + this.waitMs(attempts, at)) : 0
    const maxWait = to === 'HALF_OPEN' ? settings.maxWaitDurationInHalfOpenState : 0
    const goesOn = to === 'OPEN' && settings.automaticTransitionFromOpenToHalfOpenEnabled
    // OPEN goes on showing the window of the state before it.
    if (to !== 'OPEN') this.metered = metricsOf(to, settings, at)
    this.at = to
    this.attempts = attempts
    this.openUntil = until
    this.dueAt = goesOn ? Math.max(until, at) : maxWait > 0 ? at + maxWait : Number.POSITIVE_INFINITY
    this.left = settings.permittedNumberOfCallsInHalfOpenState
    this.heardAt = at
    this.told = 0
  }

  private waitMs(attempt: number, at: number): number {
    const { waitIntervalFunctionInOpenState: interval, waitDurationInOpenState } = this.settings
    if (interval === undefined) return waitDurationInOpenState ?? DEFAULT_WAIT_MS
    try {
      const ms = interval(attempt, this.env.random)
      if (Number.isFinite(ms)) return ms
      this.warn('waitIntervalFunctionInOpenState', ms, at)
    } catch (error) {
      this.warn('waitIntervalFunctionInOpenState', error, at)
    }
    return DEFAULT_WAIT_MS
  }

  private warn(option: string, error: unknown, at: number): void {
    this.env.emit({ type: 'warning', at, path: this.path, why: `${option}: ${String(error)}` })
  }

  private tell(event: Resilience4jEvent): void {
    if (this.listeners.length === 0) return
    // These two tell of nothing but their end.
    const mute = this.at === 'DISABLED' || this.at === 'FORCED_OPEN'
    if (mute && event.type !== 'STATE_TRANSITION' && event.type !== 'RESET') return
    for (const listener of this.listeners) {
      try {
        listener(event)
      } catch {}
    }
  }
}
