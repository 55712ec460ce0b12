import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { type Kind, kindOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse, spanOrZero } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { Lanes } from '../trips/lanes.ts'
import { isSlow } from '../trips/rates.ts'
import { percent } from '../trips/share.ts'
import { evidenceOf } from './breaker-evidence.ts'
import { HalfOpen } from './breaker-half-open.ts'
import { Ramp } from './breaker-ramp.ts'
import { type BreakerSave, breakerSave, savedMs } from './breaker-save.ts'
import { type BreakerOptions, type BreakerSettings, breakerOptions, breakerSnapshot } from './breaker-settings.ts'
import { States } from './breaker-states.ts'

// Is what we call broken, so that calling it harms both sides?
//
// Source: the circuit breaker of Nygard, "Release It!" (2007), with the states of resilience4j; generations as in gobreaker; leases for
// probes, which none of them has. Closed lets pass and counts; open refuses; half-open lends a few probes and refuses the rest.
//
// failureRate 0.5, atLeast 20, openFor 5 s, probes 3: the 20th result, when it is the 10th failure, opens; 5 s later three calls pass; two successes
// close, two failures open for 10 s.
//
// Invariants: a result of an older generation never decides; a refusal has taken nothing. For those of the states see breaker-states.ts.

export class Breaker extends States implements Gate {
  readonly kind = 'breaker'
  /** Whose permits these are: its own, or those of a gate that is built around it. */
  protected owner: Gate = this
  private lanes: Lanes | null = null

  constructor(options: BreakerOptions = {}, env: Env = envOf(systemRuntime, 'breaker')) {
    super(parse(breakerOptions, options, 'breaker'), env)
  }

  get timed(): boolean {
    const { slowAfter, errorCost } = this.settings
    return slowAfter !== undefined || errorCost !== undefined
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    if (this.at !== 'closed') return this.tryOther(ask)
    if (this.careful) return this.tryCarefully(ask)
    this.lent++
    return new Permit(this.owner, this.generation)
  }

  private tryCarefully(ask: Ask): Permit | Rejection {
    const { now } = ask
    if (this.watched?.hangs(now) === true) {
      this.open(this.trip.explain(now), now)
      if (this.at !== 'closed') return this.tryOther(ask)
    }
    return this.refusedByRamp(now) ?? this.lend(ask)
  }

  private refusedByRamp(now: number): Rejection | undefined {
    if (this.ramp === null) return undefined
    const share = this.ramp.share(now)
    if (share === 1) {
      this.ramp = null
      this.heed()
      return undefined
    }
    const draw = this.env.random()
    return draw < share ? undefined : new Rejection(this, 'ramping', this.ramp.waitMs(draw, now), share, 1)
  }

  /** Its method travels in the permit, where the trip has normal latencies for each, and its beginning, where the trip watches those who hang. */
  private lend(ask: Ask): Permit {
    this.lent++
    const lane = this.laneOf(ask)
    const tag = this.watched === null ? lane : this.watched.begin(ask.now, lane)
    return new Permit(this.owner, this.generation, tag)
  }

  private laneOf(ask: Ask): number {
    if (this.settings.errorCost === undefined || ask.method === undefined) return 0
    this.lanes ??= new Lanes()
    return this.lanes.of(ask.method)
  }

  private tryOther(ask: Ask): Permit | Rejection {
    const { now } = ask
    switch (this.at) {
      case 'open':
        if (!this.mayProbe(now))
          return new Rejection(this, 'open', Math.max(0, this.openUntil - now), this.value, this.limit)
        this.enter('halfOpen', 'the open time is over', now)
        // Asked anew: a listener may have steered it elsewhere.
        return this.tryAcquire(ask)
      case 'halfOpen':
        return this.endHalfOpen(now) ? this.tryAcquire(ask) : this.tryProbe(ask)
      case 'forcedOpen':
        return new Rejection(this, 'forced', 0, this.value, this.limit)
      case 'metricsOnly':
        if (this.watched !== null) this.note(this.watched.hangs(now), now)
        return this.lend(ask)
      default:
        this.lent++
        return new Permit(this.owner, this.generation)
    }
  }

  private tryProbe(ask: Ask): Permit | Rejection {
    const { now } = ask
    const { halfOpen, probes } = this
    const lapsed = probes.lapse(now)
    const serial = probes.hangs(now) ? -1 : probes.lend(now)
    let answer: Permit | Rejection
    if (serial > 0) {
      this.lent++
      answer = new Permit(this.owner, this.generation, serial)
    } else if (serial === 0)
      answer = new Rejection(this, 'probing', halfOpen.retryInMs(now), probes.running, probes.size)
    else {
      this.open(halfOpen.whyOpen(now), now)
      answer = this.tryAcquire(ask)
    }
    // Last, when the answer stands: whoever hears of it may steer.
    if (serial === 1) this.startHalfOpen(now)
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
    } else if (this.at === 'halfOpen') this.settleProbe(permit, verdict, tookMs, now)
    else if (this.at !== 'disabled') this.settleCounted(permit, verdict, tookMs, now)
  }

  private settleCounted(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    const counts = evidenceOf(verdict, tookMs, this.settings.slowAfter)
    if (counts === null) return this.watched?.drop(permit.tag)
    const exceeds = this.trip.record(counts, tookMs, now, permit.tag)
    if (this.at === 'metricsOnly') this.note(exceeds, now)
    else if (exceeds) this.open(this.trip.explain(now), now)
  }

  /** While it only measures: tells once that it would open, until it is well below again. A success in between is no recovery. */
  private note(exceeds: boolean, now: number): void {
    const told = this.exceeded
    this.exceeded = exceeds || (told && this.trip.nearness(now) >= 1)
    if (exceeds && !told) this.tell('metricsOnly', 'metricsOnly', `would open: ${this.trip.explain(now)}`, now)
  }

  private settleProbe(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    // Over before this result came: it is of an older generation.
    if (this.endHalfOpen(now)) return
    const { halfOpen, probes } = this
    if (!probes.giveBack(permit.tag)) return
    const { slowAfter, slowRate } = this.settings
    const counts = evidenceOf(verdict, tookMs, slowAfter)
    const slow =
      slowRate !== undefined && slowAfter !== undefined && counts !== null && isSlow(counts, tookMs, slowAfter)
    const decision = counts === null ? undefined : probes.record(counts === 'success', slow)
    if (decision === 'close') this.enter('closed', halfOpen.whyClosed, now)
    else if (decision === 'open' || probes.hangs(now)) this.open(halfOpen.whyOpen(now), now)
  }

  cancelled(permit: Permit): void {
    if (permit.generation !== this.generation) return
    this.lent--
    if (this.at === 'halfOpen') this.probes.giveBack(permit.tag)
    else if (this.at !== 'disabled') this.watched?.drop(permit.tag)
  }

  explain({ reason, value, limit }: Rejection): string {
    if (reason === 'probing') return `half-open, all ${limit} probes are out`
    if (reason === 'ramping') return `closed again, and ${percent(value)} of the calls are let through so far`
    return reason === 'forced' ? `forced open: ${this.why}` : `open: ${this.why}`
  }

  idle(now: number): boolean {
    return (
      this.at === 'closed' &&
      this.lent === 0 &&
      this.trip.idle(now) &&
      !this.ramping(now) &&
      (this.streak === 0 || now - this.since >= this.settings.healthyAfter)
    )
  }

  /** What the next process should know. JSON carries it. */
  save(): BreakerSave {
    const now = this.env.now()
    const memory = this.at === 'closed' ? this.trip.remember?.(now) : undefined
    return {
      version: 1,
      state: this.state(now),
      sinceMs: savedMs(now - this.since),
      openMs: savedMs(this.probeInMs(now)),
      streak: this.streak,
      why: this.why,
      value: this.value,
      limit: this.limit,
      rampMs: savedMs(this.ramp?.leftMs(now) ?? 0),
      ...(memory === undefined ? {} : { memory }),
    }
  }

  /**
   * Takes up where another process has stopped; `ageMs` is the time since it saved. For a breaker that was just made: calls that are out say
   * nothing any more. Probes that were out are asked anew. Throws a ConfigError that names the field, and changes nothing, for what is no save.
   */
  restore(save: BreakerSave, ageMs = 0): void {
    const { state, sinceMs, openMs, streak, why, value, limit, rampMs, memory } = parse(breakerSave, save, 'save')
    const age = parse(spanOrZero, ageMs, 'ageMs')
    const now = this.env.now()
    this.streak = streak
    this.value = value
    this.limit = limit
    this.openUntil = now + Math.max(0, openMs - age)
    const generation = this.generation + 1
    this.enter(state, why, now)
    // A listener has steered: his word is newer.
    if (this.generation !== generation) return
    this.since = now - sinceMs - age
    if (this.at !== 'closed') return
    if (memory !== undefined) this.trip.recall?.(memory, age, now)
    const { ramp } = this.settings
    this.ramp = ramp !== undefined && rampMs > age ? new Ramp(now + rampMs - age - ramp, ramp) : null
    this.heed()
  }

  private probeInMs(now: number): number {
    if (this.at === 'open') return Math.max(0, this.openUntil - now)
    return this.at === 'halfOpen' ? this.halfOpen.reopenInMs(now) : 0
  }

  private hanging(now: number): number {
    if (this.watched === null) return 0
    return this.at === 'halfOpen' ? this.probes.late(now) : this.watched.late(now)
  }

  inspect(now: number): Snapshot {
    const { size, free, running, good, bad } = (this.episode ?? new HalfOpen(this.settings)).probes
    return {
      kind: this.kind,
      path: this.path,
      state: this.state(now),
      sinceMs: Math.max(0, now - this.since),
      probeInMs: this.probeInMs(now),
      nearness: Math.min(1, this.trip.nearness(now)),
      opened: this.opened,
      why: this.why,
      probes: { size, free, running, good, bad },
      slowShare: this.watched?.slowShare(now) ?? 0,
      hanging: this.hanging(now),
      rampShare: this.ramp?.share(now) ?? 1,
    }
  }
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
