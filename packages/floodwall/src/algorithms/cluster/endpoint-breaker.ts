import type { Gate } from '../../core/gate.ts'
import type { Verdict } from '../../core/outcome.ts'
import type { Env } from '../../core/runtime.ts'
import { Breaker } from '../gates/breaker.ts'
import type { BreakerOptions, BreakerState } from '../gates/breaker-settings.ts'

// May this endpoint be isolated, and may it be tried again?
//
// A breaker that belongs to a cluster: the cluster has a say before it opens for results (the cap) and before it lets probes through
// (active checks), and hears of every state. What is known without statistics (a refused connection, a failed check, an operator) opens it
// without asking.
//
// Invariant: a veto leaves it closed, and the next result asks again.

export interface EndpointHooks {
  readonly owner: Gate
  /** May it be isolated for its results? */
  mayOpen(): boolean
  /** May its isolation become longer than the last one? */
  mayGrow(): boolean
  /** May calls probe it, now that its time is over? */
  mayProbe(now: number): boolean
  /** It is in another state. */
  entered(to: BreakerState, now: number): void
}

export class EndpointBreaker extends Breaker {
  private readonly hooks: EndpointHooks
  /** The open time that somebody outside has named. */
  private namedMs: number | undefined

  constructor(options: BreakerOptions, env: Env, hooks: EndpointHooks) {
    super(options, env)
    this.owner = hooks.owner
    this.hooks = hooks
  }

  /** Out of choice: open or forced open. */
  get out(): boolean {
    return this.at === 'open' || this.at === 'forcedOpen'
  }

  /** When its isolation ends, on the runtime's clock; Infinity while forced open. */
  get until(): number {
    return this.at === 'forcedOpen' ? Number.POSITIVE_INFINITY : this.openUntil
  }

  /** 0: nothing wrong; 1: it opens. */
  nearness(now: number): number {
    return Math.min(1, this.trip.nearness(now))
  }

  /** Probes that may go now; a half-open endpoint with none is waiting for those that are out. */
  freeProbes(now: number): number {
    if (this.at !== 'halfOpen') return 0
    this.probes.lapse(now)
    return this.probes.free
  }

  /**
   * Opens without asking, for `forMs` or the usual, growing time. `tried`: whoever says so has looked; when its time was over already, this
   * is a failed probe, and the time grows.
   */
  openNow(why: string, forMs?: number, tried = false): void {
    // Who was steered by hand stays where he was put.
    if (this.at === 'forcedOpen' || this.at === 'disabled' || this.at === 'metricsOnly') return
    const now = this.env.now()
    // Counted here, since open() takes it for one more hand on a breaker that is open.
    if (tried && this.at === 'open' && super.mayProbe(now)) this.streak++
    this.namedMs = forMs
    super.open(why, now)
    this.namedMs = undefined
    // While all are out a long isolation only hides the first one that is back.
    if (!this.hooks.mayGrow()) this.streak = Math.min(this.streak, 1)
  }

  /** By hand nobody is asked: the cap is for guesses. */
  override steer(to: BreakerState, why = 'by hand'): void {
    if (to === 'open') super.open(why, this.env.now())
    else super.steer(to, why)
  }

  /** Its time is over, and only its checks keep calls away. */
  waitsForLeave(now: number): boolean {
    return this.at === 'open' && super.mayProbe(now) && !this.hooks.mayProbe(now)
  }

  /** Its time is over: probes may go. */
  probeNow(now: number): void {
    if (this.at === 'open' && this.mayProbe(now)) this.enter('halfOpen', 'the isolation is over', now)
  }

  /** What has led here is answered: the next trip takes new evidence. */
  forget(now: number): void {
    this.trip.reset(now)
  }

  /** A result that was seen elsewhere. */
  observe(verdict: Verdict, tookMs: number, now: number): void {
    if (this.at === 'closed' && this.trip.record(verdict, tookMs, now)) this.open(this.trip.explain(now), now)
  }

  protected override openMs(): number {
    return this.namedMs ?? super.openMs()
  }

  protected override mayProbe(now: number): boolean {
    return super.mayProbe(now) && this.hooks.mayProbe(now)
  }

  protected override open(why: string, now: number): void {
    // Vetoed, it keeps its evidence: nearness is what lowers its weight.
    if (this.at !== 'closed' || this.hooks.mayOpen()) super.open(why, now)
  }

  protected override enter(to: BreakerState, why: string, now: number): void {
    super.enter(to, why, now)
    this.hooks.entered(this.at, now)
  }
}
