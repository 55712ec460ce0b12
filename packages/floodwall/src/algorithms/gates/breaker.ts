import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { Lanes } from '../trips/lanes.ts'
import type { Trip } from '../trips/trip.ts'
import {
  type BreakerOptions,
  type BreakerSettings,
  type BreakerState,
  breakerOptions,
  breakerSnapshot,
  sameTrip,
  tripOf,
} from './breaker-settings.ts'
import { Probes } from './probes.ts'

// Is what we call broken, so that calling it harms both sides?
//
// Source: the circuit breaker of Nygard, "Release It!" (2007), with the states of resilience4j; generations as in gobreaker; leases for
// probes, which none of them has. Closed lets pass and counts; open refuses; half-open lends a few probes and refuses the rest.
//
// failureRate 0.5, atLeast 20, openFor 5 s, probes 3: the 20th result, when it is the 10th failure, opens; 5 s later three calls pass; two successes
// close, two failures open for 10 s.
//
// Invariants: every state but `open` has a way out that does not need time, and `open` has one that needs nothing but time, since the end
// is compared when asked, never scheduled (a timer can be lost, opossum #385). A result of an older generation never decides.

/** What a result says: nothing, good, bad. */
const NOTHING = 0
const GOOD = 1
const BAD = 2

export class Breaker implements Gate {
  readonly kind = 'breaker'
  readonly path: string
  timed: boolean
  protected readonly env: Env
  protected settings: BreakerSettings
  protected trip: Trip
  protected at: BreakerState = 'closed'
  /** Whose permits these are: its own, or those of a gate that is built around it. */
  protected owner: Gate = this
  private generation = 0
  private since: number
  protected openUntil = 0
  /** Times opened without long health between: the exponent of the open time. */
  protected streak = 0
  /** Only while half-open: most breakers never are, and there may be ten thousand. */
  private lender: Probes | null = null
  private opened = 0
  private why = ''
  private value = 0
  private limit = 0
  private exceeded = false
  private lanes: Lanes | null = null
  /** Permits of this generation that have not ended: what they will say must not be lost. */
  private lent = 0

  constructor(options: BreakerOptions = {}, env: Env = envOf(systemRuntime, 'breaker')) {
    this.path = env.path
    this.env = env
    this.settings = parse(breakerOptions, options, 'breaker')
    this.trip = tripOf(this.settings)
    this.since = env.now()
    this.timed = isTimed(this.settings)
  }

  /** The state as a call would meet it now: `open` reads as `halfOpen` once a probe would pass. */
  state(now: number = this.env.now()): BreakerState {
    return this.at === 'open' && this.mayProbe(now) ? 'halfOpen' : this.at
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    if (this.at !== 'closed') return this.tryOther(ask.now)
    this.lent++
    return new Permit(this.owner, this.generation, this.laneOf(ask))
  }

  /** The method of the call, where the trip has normal latencies of its own for each; it travels in the permit. */
  private laneOf(ask: Ask): number {
    if (this.settings.errorCost === undefined || ask.method === undefined) return 0
    this.lanes ??= new Lanes()
    return this.lanes.of(ask.method)
  }

  /** True when the open time is over. */
  protected mayProbe(now: number): boolean {
    return now >= this.openUntil
  }

  private tryOther(now: number): Permit | Rejection {
    switch (this.at) {
      case 'open':
        if (!this.mayProbe(now))
          return new Rejection(this, 'open', Math.max(0, this.openUntil - now), this.value, this.limit)
        this.enter('halfOpen', 'the open time is over', now)
        // Asked anew: a listener may have steered it elsewhere.
        return this.tryOther(now)
      case 'halfOpen':
        return this.tryProbe(now)
      case 'forcedOpen':
        return new Rejection(this, 'forced', 0, this.value, this.limit)
      default:
        this.lent++
        return new Permit(this.owner, this.generation)
    }
  }

  private tryProbe(now: number): Permit | Rejection {
    const { probes } = this
    const lapsed = probes.lapse(now)
    const serial = probes.lend(now)
    if (serial > 0) this.lent++
    const answer =
      serial > 0
        ? new Permit(this.owner, this.generation, serial)
        : new Rejection(this, 'probing', probes.nextLapseMs(now), probes.running, probes.size)
    // Last, when the answer stands: a listener may steer.
    if (lapsed > 0)
      this.env.emit({ type: 'lapsed', at: now, path: this.path, why: `${lapsed} probe(s) were not reported on` })
    return answer
  }

  settled(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    if (permit.generation !== this.generation) return
    this.lent--
    if (verdict === 'success' && this.at === 'closed') {
      // The common end. Trips that judge in batches can open on it.
      if (this.trip.record(verdict, tookMs, now, permit.tag)) this.open(this.trip.explain(now), now)
      return
    }
    const says = this.weigh(verdict, tookMs)
    if (this.at === 'closed') {
      if (says !== NOTHING && this.record(says, tookMs, now, permit.tag)) this.open(this.trip.explain(now), now)
    } else this.settleOther(permit, says, tookMs, now)
  }

  private settleOther(permit: Permit, says: number, tookMs: number, now: number): void {
    if (this.at === 'metricsOnly') {
      if (says === NOTHING) return
      const told = this.exceeded
      const exceeds = this.record(says, tookMs, now, permit.tag)
      // Told once, until it is well below again: a success in between is no recovery.
      this.exceeded = exceeds || (told && this.trip.nearness(now) >= 1)
      if (exceeds && !told) this.tell('metricsOnly', 'metricsOnly', `would open: ${this.trip.explain(now)}`, now)
    } else if (this.at === 'halfOpen') {
      if (!this.probes.giveBack(permit.tag) || says === NOTHING) return
      const decision = this.probes.record(says === GOOD)
      if (decision === 'open') this.open(`${this.probes.bad} of ${this.probes.size} probes failed`, now)
      else if (decision === 'close')
        this.enter('closed', `${this.probes.good} of ${this.probes.size} probes succeeded`, now)
    }
  }

  cancelled(permit: Permit): void {
    if (permit.generation !== this.generation) return
    this.lent--
    if (this.at === 'halfOpen') this.probes.giveBack(permit.tag)
  }

  /** Overload is an answer, and a caller who left proves nothing; but who was given the slow limit and got nothing has seen enough. */
  private weigh(verdict: Verdict, tookMs: number): number {
    if (verdict === 'success') return GOOD
    if (verdict === 'failure') return BAD
    const { slowAfter } = this.settings
    if (verdict === 'timeout') return slowAfter === undefined || tookMs >= slowAfter ? BAD : NOTHING
    return verdict === 'ignored' && slowAfter !== undefined && tookMs >= slowAfter ? BAD : NOTHING
  }

  private record(says: number, tookMs: number, now: number, lane: number): boolean {
    return this.trip.record(says === GOOD ? 'success' : 'failure', tookMs, now, lane)
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
    if (!sameTrip(this.settings, settings)) this.trip = tripOf(settings)
    this.settings = settings
    this.timed = isTimed(settings)
    // Probes that are out decide by the settings under which they went.
    if (this.at !== 'halfOpen') this.lender = null
  }

  protected open(why: string, now: number): void {
    if (this.at === 'closed' && now - this.since >= this.settings.healthyAfter) this.streak = 0
    // Again by hand: the same time from now on, since no probe has failed.
    if (this.at === 'open') this.streak--
    else this.opened++
    this.openUntil = now + this.openMs()
    this.streak++
    this.note(now)
    this.enter('open', why, now)
  }

  /** No Math.pow: its last bits differ between Node versions, and replays must not. */
  protected openMs(): number {
    const { openFor, growth, openAtMost, jitter } = this.settings
    const most = Math.max(openFor, openAtMost)
    let ms = openFor
    for (let i = 0; i < this.streak && ms < most; i++) ms *= growth
    ms = Math.min(ms, most)
    // On top of the cap: under it, all that have reached the cap would probe in step.
    return jitter === 0 ? ms : ms * (1 + jitter * this.env.random())
  }

  protected enter(to: BreakerState, why: string, now: number): void {
    const from = this.at
    this.at = to
    this.generation++
    this.lent = 0
    this.since = now
    this.why = why
    this.exceeded = false
    this.lender = to === 'halfOpen' ? this.newProbes() : null
    if (to === 'closed' || to === 'metricsOnly') this.trip.reset(now)
    // Last, when the new state is whole: a listener may steer.
    if (from !== to) this.tell(from, to, why, now)
  }

  /** Of this half-open episode. */
  protected get probes(): Probes {
    this.lender ??= this.newProbes()
    return this.lender
  }

  private newProbes(): Probes {
    const { probes, probeFailureRate, probeLapse } = this.settings
    return new Probes(probes, probeFailureRate, probeLapse)
  }

  private tell(from: BreakerState, to: BreakerState, why: string, now: number): void {
    this.env.emit({ type: 'state', at: now, path: this.path, from, to, why })
  }

  private note(now: number): void {
    this.value = this.trip.value(now)
    this.limit = this.trip.limit(now)
  }

  explain(rejection: Rejection): string {
    if (rejection.reason === 'probing') return `half-open, all ${rejection.limit} probes are out`
    return rejection.reason === 'forced' ? `forced open: ${this.why}` : `open: ${this.why}`
  }

  idle(now: number): boolean {
    return (
      this.at === 'closed' &&
      this.lent === 0 &&
      this.trip.idle(now) &&
      (this.streak === 0 || now - this.since >= this.settings.healthyAfter)
    )
  }

  inspect(now: number): Snapshot {
    const { size, free, running, good, bad } = this.lender ?? this.newProbes()
    return {
      kind: this.kind,
      path: this.path,
      state: this.state(now),
      sinceMs: Math.max(0, now - this.since),
      probeInMs: this.at === 'open' ? Math.max(0, this.openUntil - now) : 0,
      nearness: Math.min(1, this.trip.nearness(now)),
      opened: this.opened,
      why: this.why,
      probes: { size, free, running, good, bad },
    }
  }
}

function isTimed({ slowAfter, errorCost }: BreakerSettings): boolean {
  return slowAfter !== undefined || errorCost !== undefined
}

/** A breaker around what comes further in. Evidence: `failure` and `timeout` against `success`; overload and ignored calls touch nothing. */
export const breaker: Kind<BreakerOptions, BreakerSettings> = kindOf({
  kind: 'breaker',
  options: breakerOptions,
  snapshot: breakerSnapshot,
  build(settings, env, previous) {
    if (!(previous instanceof Breaker)) return new Breaker(settings, env)
    previous.reconfigure(settings)
    return previous
  },
})
