import type { Env } from '../../core/runtime.ts'
import type { Trip } from '../trips/trip.ts'
import { Watched } from '../trips/watched.ts'
import { HalfOpen } from './breaker-half-open.ts'
import { openTime } from './breaker-open-time.ts'
import { Ramp } from './breaker-ramp.ts'
import type { BreakerSettings, BreakerState } from './breaker-settings.ts'
import { sameTrip, tripOf } from './breaker-trip.ts'
import type { Probes } from './probes.ts'

// In which state is a breaker, since when, until when?
//
// Each state ends by itself or by hand; each change is a new generation, is told once, and last, when the new state is whole: a listener may
// steer. Ends are compared when somebody asks. `eager` sets a timer besides, for those who watch: it carries its generation, every change takes
// it back, and without it everything happens as well, with the next call.
//
// Open at 10 s for 5 s: `open` until 15 s. A call at 17 s finds it half-open; with `eager` a dashboard does so at 15 s.
//
// Invariants: every state but `open` has a way out that does not need time, and `open` has one that needs nothing but time (a timer can be lost,
// opossum #385). Only the constructor and `enter` write `at`.

/** A timer of Node may ring up to a millisecond early. */
const AGAIN_MS = 1

export abstract class States {
  protected readonly env: Env
  protected settings: BreakerSettings
  protected trip: Trip
  protected at: BreakerState = 'closed'
  protected generation = 0
  protected since: number
  protected openUntil = 0
  /** Times opened without long health between: the exponent of the open time. */
  protected streak = 0
  protected opened = 0
  protected why = ''
  protected value = 0
  protected limit = 0
  /** Permits of this generation that have not ended: what they will say must not be lost. */
  protected lent = 0
  /** While it only measures: that it would open has been told. */
  protected exceeded = false
  /** Only while half-open: most breakers never are, and there may be ten thousand. */
  protected episode: HalfOpen | null = null
  protected ramp: Ramp | null = null
  /** The trip, where it wants to hear of calls when they begin. */
  protected watched: Watched | null
  /** A call has to ask for more than the state, also when closed. */
  protected careful = false
  /** With `eager`: takes back the timer. */
  private disarm: (() => void) | null = null
  /** The function of `openFor` is being asked: one that opens the breaker would be asked for ever. */
  private asking = false
  /** What the function of `openFor` did wrong, until it is told. */
  private fault: string | undefined

  constructor(settings: BreakerSettings, env: Env) {
    this.env = env
    this.settings = settings
    this.trip = tripOf(settings)
    this.watched = this.trip instanceof Watched ? this.trip : null
    this.since = env.now()
    this.heed()
  }

  get path(): string {
    return this.env.path
  }

  /** The state as a call would meet it now: `open` reads as `halfOpen` once a probe would pass. */
  state(now: number = this.env.now()): BreakerState {
    if (this.at === 'open' && this.mayProbe(now)) return 'halfOpen'
    return this.at === 'halfOpen' ? this.halfOpen.stateAt(now) : this.at
  }

  /** Puts it into a state by hand; stays there until the next hand. `closed` starts with empty statistics, `open` with the usual time. */
  steer(to: BreakerState, why = 'by hand'): void {
    const now = this.env.now()
    if (to === 'open') return this.open(why, now)
    if (to === 'closed') this.streak = 0
    else if (to === this.at) return
    this.enter(to, why, now)
  }

  /** Other settings, same state: what is open stays open to its time, calls in flight settle as before. */
  reconfigure(settings: BreakerSettings): void {
    if (!sameTrip(this.settings, settings)) this.exchange(tripOf(settings))
    this.settings = settings
    // Probes that are out decide by the settings under which they went.
    if (this.at !== 'halfOpen') this.episode = null
    if (settings.ramp === undefined) this.ramp = null
    this.heed()
    this.arm(this.env.now())
  }

  private exchange(trip: Trip): void {
    const wasWatched = this.watched !== null
    this.trip = trip
    this.watched = trip instanceof Watched ? trip : null
    // Permits carry numbers that only their own trip can read; what they would say has gone with its window.
    if ((wasWatched || this.watched !== null) && this.at !== 'halfOpen') {
      this.generation++
      this.lent = 0
    }
  }

  /** Sees whether a call has more to ask for. */
  protected heed(): void {
    this.careful = this.watched !== null || this.ramp !== null || this.settings.errorCost !== undefined
  }

  /** True when the open time is over. */
  protected mayProbe(now: number): boolean {
    return now >= this.openUntil
  }

  protected open(why: string, now: number): void {
    const { healthyAfter } = this.settings
    if (this.at === 'closed' && !this.ramping(now) && now - this.since >= healthyAfter) this.streak = 0
    // Again by hand: the same time from now on, since no probe has failed.
    if (this.at === 'open') this.streak--
    const times = this.streak + 1
    this.openUntil = now + this.openMs()
    // Unless the function that was asked has opened it: that was this opening.
    if (this.at !== 'open') this.opened++
    this.streak = times
    this.value = this.trip.value(now)
    this.limit = this.trip.limit(now)
    this.enter('open', why, now)
  }

  /** How long it is open when it opens now. */
  protected openMs(): number {
    if (this.at === 'halfOpen' && this.episode?.openMs !== undefined) return this.episode.openMs
    const { asking } = this
    this.asking = true
    const { ms, fault } = openTime(this.settings, this.streak + 1, this.env.random, asking)
    this.asking = asking
    this.fault = fault
    return ms
  }

  /** Half-open without a decision for as long as it may be; true when it is not any more. */
  protected endHalfOpen(now: number): boolean {
    const { episode } = this
    const to = episode?.over(now)
    if (episode === null || to === undefined) return false
    // As of its end: whoever asks late meets what a timer would have left.
    if (to === 'open') this.open(episode.whyOver, episode.endsAt)
    else this.enter('closed', episode.whyOver, episode.endsAt)
    return true
  }

  protected enter(to: BreakerState, why: string, now: number): void {
    const from = this.at
    this.at = to
    this.generation++
    this.lent = 0
    this.since = now
    this.why = why
    this.exceeded = false
    this.episode = to === 'halfOpen' ? new HalfOpen(this.settings) : null
    // Not by hand: whoever closes it says that all is well, and that it never opened.
    const { ramp } = this.settings
    const ramps = to === 'closed' && from === 'halfOpen' && this.streak > 0 && ramp !== undefined
    this.ramp = ramps ? new Ramp(now, ramp) : null
    this.watched?.forgetBegun()
    if (to === 'closed' || to === 'metricsOnly') this.trip.reset(now)
    this.heed()
    this.arm(now)
    if (from !== to) this.tell(from, to, why, now)
    this.tellFault(now)
  }

  /** The first probe goes out: from now on half-open has an end. */
  protected startHalfOpen(now: number): void {
    const { halfOpen } = this
    const openMs = halfOpen.mayReopen ? this.openMs() : undefined
    // A function of the user has steered.
    if (this.episode !== halfOpen) return
    halfOpen.start(now, openMs)
    this.arm(now)
    this.tellFault(now)
  }

  /** This half-open episode. */
  protected get halfOpen(): HalfOpen {
    this.episode ??= new HalfOpen(this.settings)
    return this.episode
  }

  protected get probes(): Probes {
    return this.halfOpen.probes
  }

  protected ramping(now: number): boolean {
    return this.ramp !== null && this.ramp.share(now) < 1
  }

  private arm(now: number, leastMs = 0): void {
    this.disarm?.()
    this.disarm = null
    if (this.settings.eager !== true) return
    const end = this.at === 'open' ? this.openUntil : (this.episode?.endsAt ?? Number.POSITIVE_INFINITY)
    if (end === Number.POSITIVE_INFINITY) return
    const { generation } = this
    this.disarm = this.env.after(Math.max(leastMs, end - now), () => this.ring(generation), true)
  }

  private ring(generation: number): void {
    if (generation !== this.generation) return
    this.disarm = null
    const now = this.env.precise()
    if (this.at === 'halfOpen') {
      if (!this.endHalfOpen(now)) this.arm(now, AGAIN_MS)
    } else if (now < this.openUntil) this.arm(now, AGAIN_MS)
    // Whom checks keep away waits for them, or for a call.
    else if (this.mayProbe(now)) this.enter('halfOpen', 'the open time is over', now)
  }

  protected tell(from: BreakerState, to: BreakerState, why: string, now: number): void {
    this.env.emit({ type: 'state', at: now, path: this.path, from, to, why })
  }

  private tellFault(now: number): void {
    const { fault } = this
    if (fault === undefined) return
    this.fault = undefined
    this.env.emit({ type: 'warning', at: now, path: this.path, why: fault })
  }
}
