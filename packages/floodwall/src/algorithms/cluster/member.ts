import { type Ask, type Gate, Permit, type Rejection, type Snapshot } from '../../core/gate.ts'
import type { Endpoint } from '../../core/init.ts'
import type { Verdict } from '../../core/outcome.ts'
import type { Env } from '../../core/runtime.ts'
import type { BreakerOptions, BreakerState } from '../gates/breaker-settings.ts'
import { Semaphore } from '../gates/semaphore.ts'
import { PeakEwma } from '../stats/ewma.ts'
import { EndpointBreaker } from './endpoint-breaker.ts'
import type { Evidence } from './evidence.ts'

// How is one endpoint doing?
//
// A member is the gate in front of an endpoint: its breaker decides whether it is in choice at all (that is isolation), its latency and
// load decide how often it is chosen. Latency is Finagle's peak EWMA: up at once, down slowly, so one slow answer is remembered and an old
// one forgotten.
//
// Invariant: the breaker's permits are the member's; each result reaches latency and breaker once.

/** How fast latency is forgotten: as in Finagle's peak EWMA balancer. */
const LATENCY_TAU_MS = 10_000

/** An endpoint that fails keeps at least this share of its weight until it is isolated: nearness is a suspicion, not a verdict. */
const LEAST_HEALTH = 0.1

/** A share of the weight to begin with after joining or returning: enough to be tried, little enough to warm up. */
const FIRST_SHARE = 0.1

/** Reported results that are counted one by one; of more, the same share. */
const MOST_OBSERVED = 1000

export interface MemberOptions {
  readonly isolation: BreakerOptions
  readonly maxInFlight: number
  readonly slowStartMs: number
  /** May it be isolated for its results? */
  readonly mayOpen: (member: Member) => boolean
  /** May its isolation become longer? */
  readonly mayGrow: () => boolean
  /** May calls probe it, now that its time is over? */
  readonly mayProbe: (member: Member, now: number) => boolean
  readonly moved: (member: Member, to: BreakerState, now: number) => void
  /** An attempt has ended. */
  readonly heard: (member: Member, verdict: Verdict, tookMs: number, now: number) => void
}

export class Member implements Gate {
  readonly kind = 'endpoint'
  readonly path: string
  readonly timed = true
  readonly endpoint: Endpoint
  readonly breaker: EndpointBreaker
  /** Calls inside; its limit is the endpoint's own. */
  readonly slots: Semaphore
  weight = 1
  /** When it joined or returned: the start of its slow start. */
  since = 0
  /** Its place in the list of those in choice, or -1. */
  index = -1
  /** Connect timeouts in a row. */
  connectTimeouts = 0
  /** Half its share, then a quarter: an endpoint that trips again while the cluster recovers. */
  recoveryShare = 1
  /** Isolated for its results, which the cap bounds; false: for a connection, a check, or by hand. */
  byResults = false
  /** Attempts that were sent here. */
  attempts = 0
  private failedAt = Number.NEGATIVE_INFINITY
  private readonly latency = new PeakEwma(LATENCY_TAU_MS)
  private readonly slowStartMs: number
  private readonly heard: MemberOptions['heard']

  constructor(endpoint: Endpoint, env: Env, options: MemberOptions) {
    const { isolation, maxInFlight, slowStartMs, mayOpen, mayGrow, mayProbe, moved, heard } = options
    this.endpoint = endpoint
    this.path = env.path
    this.weight = endpoint.weight ?? 1
    this.slowStartMs = slowStartMs
    this.heard = heard
    this.breaker = new EndpointBreaker(isolation, env, {
      owner: this,
      mayOpen: () => mayOpen(this),
      mayGrow,
      mayProbe: (now) => mayProbe(this, now),
      entered: (to, now) => moved(this, to, now),
    })
    this.slots = new Semaphore({ slots: maxInFlight }, env)
  }

  /** Out of choice. */
  get isolated(): boolean {
    return this.breaker.out
  }

  /** What another process saw. */
  observe({ successes, failures, successMs = 0, failureMs = 0 }: Evidence, now: number): void {
    const most = Math.min(successes + failures, MOST_OBSERVED)
    const bad = Math.round((most * failures) / Math.max(1, successes + failures))
    for (let i = 0; i < most - bad; i++) this.breaker.observe('success', successMs, now)
    for (let i = 0; i < bad; i++) this.breaker.observe('failure', failureMs, now)
    if (failures > 0) this.failedAt = now
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    return this.breaker.tryAcquire(ask)
  }

  settled(permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    if (verdict === 'success') this.latency.record(tookMs, now)
    else if (verdict !== 'ignored') this.failedAt = now
    this.connectTimeouts = 0
    this.heard(this, verdict, tookMs, now)
    this.breaker.settled(permit, verdict, tookMs, now)
  }

  cancelled(permit: Permit, _now: number): void {
    this.breaker.cancelled(permit)
  }

  /** It is in choice again: what it was like before it fell ill says nothing about it now. */
  returned(now: number): void {
    this.since = now
    this.failedAt = Number.NEGATIVE_INFINITY
    this.latency.clear()
  }

  /** A failure has no latency of its own, or a flattering one: it is booked as the slowest that the cluster has seen lately. */
  penalise(atLeastMs: number, now: number): void {
    this.latency.record(Math.max(atLeastMs, this.latency.decayed(now)), now)
  }

  get inFlight(): number {
    return this.slots.limit - this.slots.available
  }

  /** Peak latency in milliseconds, decayed to `now`; undefined before the first answer. */
  latencyMs(now: number): number | undefined {
    return this.latency.samples === 0 ? undefined : this.latency.decayed(now)
  }

  /** Weight after slow start and suspicion; 0 gets nothing. */
  effectiveWeight(now: number): number {
    return this.weight * this.warmth(now) * this.health(now)
  }

  /** From a tenth to the whole over the slow start. */
  private warmth(now: number): number {
    const age = now - this.since
    return age >= this.slowStartMs ? 1 : Math.max(FIRST_SHARE, age / this.slowStartMs)
  }

  /** Below the threshold errors only lower the weight, 1 to 0.1. Without a recent failure nothing has to be computed. */
  health(now: number): number {
    if (now - this.failedAt > LATENCY_TAU_MS) return 1
    return Math.max(LEAST_HEALTH, 1 - this.breaker.nearness(now))
  }

  inspect(now: number): Snapshot {
    return {
      kind: this.kind,
      path: this.path,
      id: this.endpoint.id,
      state: this.breaker.state(now),
      weight: this.weight,
      effectiveWeight: this.effectiveWeight(now),
      inFlight: this.inFlight,
      latencyMs: this.latencyMs(now) ?? null,
      attempts: this.attempts,
      breaker: this.breaker.inspect(now),
    }
  }
}
