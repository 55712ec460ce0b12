import { showMs } from '../../core/duration.ts'
import type { Criticality } from '../../core/init.ts'
import type { Env } from '../../core/runtime.ts'
import type { ClassSnapshot, ThrottleSettings, ThrottleState } from './throttle-settings.ts'
import { Streak } from './throttle-streak.ts'
import type { Turns } from './throttle-turns.ts'
import { ThrottleWindow } from './throttle-window.ts'

// Does the target accept this class of calls, and may another one try?
//
// The formula knows how much, but not when. It sees an outage only when half of its window is full of it, and the end only when the window has
// forgotten. So it decides what lies between, and what was heard last decides the two ends:
//
//   passing      Nothing is refused. Only a result that was not accepted ends this: without failures there are no refusals.
//   throttling   The formula drops a share. A row of accepted calls ends this: ramping.
//   probing      Nothing was accepted in the window, or for `probeEvery`. Only probes pass. One that is accepted ends this: ramping.
//   ramping      Each accepted call earns two, so that what passes doubles with each round trip: slow start, as in TCP (Jacobson 1988).
//                It ends when a round trip has passed without a refusal, or when results say that a share must be dropped after all.
//
// 1000 calls a second and a round trip of 20 ms: a probe passes at most 200 ms after the target healed. It is accepted, and then 2, 4, 8, 16
// pass in 20 ms each, and then all. At 10 calls a second a probe passes within 1.1 s, and then all.
//
// Invariants: while probing, nothing passes but each 1 / `probeShare`th call and, in turn, one each `probeEvery`; in every state these pass. What
// was sent before an outage was noticed says nothing about its end: a result of an older generation is none.

/** How a call passed; it travels in the permit. */
const FREELY = 0
const AS_PROBE = 1
const EARNED = 2
const WAYS = 4

/** What an accepted call earns: doubling, at any `k`. */
export const EARNS = 2

/** The answer of {@link Acceptance.pass} when it is no. */
export const NO = -1

export class Acceptance {
  readonly criticality: Criticality
  at: ThrottleState = 'passing'
  /** Times that an outage was noticed. */
  generation = 0
  /** Since it was made. */
  refused = 0
  probes = 0
  private readonly env: Env
  private readonly turns: Turns
  private settings: ThrottleSettings
  private k: number
  private window: ThrottleWindow
  private since: number
  private readonly streak = new Streak()
  /** While ramping: calls that may pass, and whether all counts before were forgotten. */
  private earned = 0
  private afresh = false
  /** Calls that passed in another state than `passing`: how many so far, when ramping began, before the last refusal. */
  private serial = 0
  private rampedAfter = 0
  private refusedAfter = 0
  /** When the last of them passed. */
  private passedAt: number
  /** While probing: results that were not accepted, those of all classes if they noticed it together. */
  private missed = 0

  constructor(criticality: Criticality, settings: ThrottleSettings, turns: Turns, env: Env) {
    this.criticality = criticality
    this.env = env
    this.turns = turns
    this.settings = settings
    this.k = kOf(criticality, settings)
    this.window = windowOf(settings)
    this.since = env.now()
    this.passedAt = this.since
  }

  /** Which way a call passes, as a number that its end must bring back, or {@link NO}. `behind`: classes that have waited longer for a probe. */
  pass(now: number, behind: number): number {
    if (this.at !== 'passing') this.calm(now)
    if (this.at === 'passing') return FREELY
    if (this.at === 'throttling' && !(this.env.random() < this.window.drop(this.k, now)))
      return this.passed(FREELY, now)
    if (this.at === 'ramping' && this.earned > 0) {
      this.earned--
      return this.passed(EARNED, now)
    }
    if (this.mayProbe(now, behind)) {
      this.probes++
      return this.passed(AS_PROBE, now)
    }
    this.refused++
    this.turns.refuse()
    this.refusedAfter = this.serial
    this.window.countRefused(now)
    return NO
  }

  /** What time alone ends. */
  private calm(now: number): void {
    const { window } = this
    if (this.forgotten(now)) this.enter('passing', `nobody called for ${showMs(window.spanMs)}`, now)
    else if (this.at === 'probing' || window.drop(this.k, now) > 0) return
    // Not at the first zero: around it the share comes and goes with each result.
    else if (this.at === 'throttling' && window.refused(now) === 0)
      this.enter('passing', `nothing was refused for ${showMs(window.spanMs)}`, now)
    else if (this.at === 'ramping' && !this.afresh) this.enter('passing', 'enough of all were accepted', now)
  }

  /** It has waited longer for a probe than `other`, and somebody calls. */
  waitsLonger(other: Acceptance, now: number): boolean {
    return this.at === 'probing' && this.passedAt < other.passedAt && !this.forgotten(now)
  }

  /** A window without a call says nothing any more. */
  private forgotten(now: number): boolean {
    return this.window.empty(now) && !(Math.abs(now - this.since) < this.window.spanMs)
  }

  private passed(way: number, now: number): number {
    this.passedAt = now
    return ++this.serial * WAYS + way
  }

  private mayProbe(now: number, behind: number): boolean {
    // Of what the formula drops a share passes anyway.
    return (this.at !== 'throttling' && this.turns.takeShare()) || this.turns.take(this.passedAt, behind, now)
  }

  accepted(way: number, now: number): void {
    if (this.at === 'probing') this.ramp('a probe was accepted', 0, now)
    this.streak.accept()
    this.window.countAccepted(now)
    if (this.at === 'ramping') {
      this.earned += EARNS
      if (Math.floor(way / WAYS) > this.refusedAfter) this.enter('passing', 'a round trip without a refusal', now)
    } else if (this.at === 'throttling' && this.streak.accepted >= this.settings.atLeast)
      this.ramp(`${this.streak.accepted} in a row were accepted`, EARNS, now)
  }

  failed(now: number): void {
    this.window.countFailed(now)
    this.notAccepted(now)
  }

  overloaded(now: number): void {
    this.window.countOverloaded(now)
    this.notAccepted(now)
  }

  private notAccepted(now: number): void {
    const { streak, window } = this
    const { atLeast, over, probeEvery } = this.settings
    streak.miss(now, over)
    if (this.at === 'probing') {
      this.missed++
      return
    }
    if (streak.isSilence(atLeast, probeEvery, now)) return this.probe(streak.missed, now)
    // So few pass at first that a window may never hold enough of them.
    const ramped = this.at === 'ramping' ? this.serial - this.rampedAfter : 0
    if (Math.max(ramped, window.results(now)) < atLeast) return
    if (window.accepts(now) === 0) this.probe(streak.missed, now)
    else if (this.at !== 'throttling' && window.drop(this.k, now) > 0) {
      const counts = `${window.accepts(now)} of ${Math.round(window.requests(now))} calls`
      this.enter('throttling', `${counts} were accepted in ${showMs(window.spanMs)}`, now)
    }
  }

  /** Nothing was accepted of `missed` calls. */
  probe(missed: number, now: number): void {
    this.generation++
    this.missed = missed
    this.passedAt = now
    this.enter('probing', `none of ${missed} calls was accepted`, now)
  }

  /** An outage is forgotten: it was of a target that is not the one that answers now. A share that was dropped is not: it may return. */
  ramp(why: string, earned: number, now: number): void {
    this.afresh = this.at === 'probing'
    if (this.afresh) this.window.clear(now)
    this.earned = earned
    this.rampedAfter = this.serial
    this.refusedAfter = this.serial
    this.enter('ramping', why, now)
  }

  /** Nothing ran. */
  giveBack(way: number): void {
    if (way % WAYS !== AS_PROBE) return this.learntNothing(way)
    this.passedAt = Number.NEGATIVE_INFINITY
    this.turns.giveBack()
  }

  /** It ran. A probe stays spent: callers who leave at once would send one after the other to a target that hangs. */
  learntNothing(way: number): void {
    if (way % WAYS === EARNED) this.earned++
  }

  /** Other settings, same state; another window begins empty. */
  reconfigure(settings: ThrottleSettings): void {
    const { over, buckets } = this.settings
    if (settings.over !== over || settings.buckets !== buckets) this.window = windowOf(settings)
    this.settings = settings
    this.k = kOf(this.criticality, settings)
  }

  private enter(to: ThrottleState, why: string, now: number): void {
    const from = this.at
    this.at = to
    this.since = now
    // Last, when the new state is whole: a listener may call.
    this.env.emit({ type: 'state', at: now, path: this.env.path, from, to, why: `${this.criticality}: ${why}` })
  }

  /** After a refusal: how many calls were wanted, this one included. */
  wanted(now: number): number {
    if (this.at === 'probing') return this.missed
    return this.at === 'ramping' ? this.serial - this.rampedAfter + 1 : this.window.requests(now)
  }

  /** ... and how many of them what was accepted allows. */
  allowed(now: number): number {
    if (this.at === 'probing') return 0
    return this.at === 'ramping' ? this.serial - this.rampedAfter : this.k * this.window.accepts(now)
  }

  /** ... and when asking again makes sense. Spread, so that those who were refused together do not come back together. */
  retryAfterMs(now: number): number {
    const spread = this.env.random()
    return this.at === 'probing'
      ? this.turns.waitMs(this.passedAt, now) + this.settings.probeEvery * spread
      : this.window.widthMs * (1 + spread)
  }

  /** Nothing is remembered: a new one would be the same. */
  idle(now: number): boolean {
    return this.window.empty(now) && (this.at === 'passing' || this.forgotten(now))
  }

  inspect(now: number): ClassSnapshot {
    const { criticality, k, window } = this
    const state = this.at !== 'passing' && this.forgotten(now) ? 'passing' : this.at
    return {
      criticality,
      state,
      sinceMs: Math.max(0, now - this.since),
      k,
      requests: window.requests(now),
      accepts: window.accepts(now),
      drop: window.drop(k, now),
      failed: window.failed(now),
      overloaded: window.overloaded(now),
      refused: window.refused(now),
      probeInMs: state === 'probing' ? this.turns.waitMs(this.passedAt, now) : 0,
    }
  }
}

function windowOf({ over, buckets }: ThrottleSettings): ThrottleWindow {
  return new ThrottleWindow(over, buckets)
}

/** Classes of criticality below `critical`. */
const BELOW: Readonly<Record<Criticality, number>> = { criticalPlus: -1, critical: 0, sheddablePlus: 1, sheddable: 2 }

function kOf(criticality: Criticality, { k, kStep }: ThrottleSettings): number {
  return Math.max(1, k - BELOW[criticality] * kStep)
}
