import type { Env } from '../../core/runtime.ts'
import { TimeRing } from '../stats/time-ring.ts'

// Everything was out; how much may the first ones back be asked to carry?
//
// Source: cluster recovery of brpc (issue #709): when every endpoint is out, the first to come back would get the traffic of all, fall over,
// and so for ever. While recovering a request is kept with probability q/n (q usable of n needed), or q/(k·n) with k-fold redundancy.
// brpc steps from there to everything; here the share grows to everything over the hold time.
//
// n 6, hold 10 s, one endpoint back: 1/6 at once, 7/12 after 5 s without a change, all after 10 s. A second one at 3 s: 2/6, and the ten
// seconds begin again.
//
// Invariants: begins only when nothing is usable; ends at q >= n, or when q has not changed for the hold time; keeps everything while the
// offered rate is below what q endpoints carried before the outage.

const BUCKETS = 10
const OFFERED = 0
const CARRIED = 1
const RATE_SPAN_MS = 5000

export interface RecoverySettings {
  /** k: the cluster is k·n strong. Only for the form q/kn. */
  readonly redundancy: number
  readonly form: 'q/n' | 'q/kn'
  /** At least as long as an endpoint takes to warm up, plus a check interval. */
  readonly holdMs: number
  /** Keep everything at a rate that the usable ones are known to carry. */
  readonly trustHistory: boolean
}

/** The cluster's strength, in weights. */
export interface Strength {
  /** q: in choice now. */
  readonly usable: number
  /** n: what is needed. */
  readonly needed: number
  readonly total: number
  /** How many endpoints there are: an empty cluster is not one that fell over. */
  readonly endpoints: number
}

export class Recovery {
  /** Times that all were out. */
  times = 0
  private readonly env: Env
  private readonly settings: RecoverySettings
  private readonly rate = new TimeRing(BUCKETS, RATE_SPAN_MS / BUCKETS, 2)
  private active = false
  private usable = 0
  private needed = 0
  private total = 0
  private changedAt = 0
  /** Calls per second that one unit of weight carried before the outage. */
  private carried = 0

  constructor(settings: RecoverySettings, env: Env) {
    this.settings = settings
    this.env = env
  }

  get recovering(): boolean {
    return this.active
  }

  /** A call is offered; remembered, so that demand at low load is not mistaken for a flood. */
  offered(now: number): void {
    this.rate.add(OFFERED, 1, now)
  }

  /** A call was answered well. */
  carriedOne(now: number): void {
    this.rate.add(CARRIED, 1, now)
  }

  /** The strength may have changed. */
  changed({ usable, needed, total, endpoints }: Strength, now: number): void {
    this.needed = needed
    this.total = total
    if (usable === this.usable) return
    if (!this.active && this.usable > 0) this.remember(now)
    this.usable = usable
    this.changedAt = now
    if (usable > 0 || endpoints === 0 || this.active) return
    this.active = true
    this.times++
    this.tell('serving', 'recovering', 'every endpoint is out', now)
  }

  /** What a unit of weight carries: of late, and only after a calm window, since the last one standing did not carry what all had. */
  private remember(now: number): void {
    if (now - this.changedAt < RATE_SPAN_MS) return
    this.carried = Math.max(this.carried * 0.9, this.perSecond(CARRIED, now) / this.usable)
  }

  /** The share of calls to keep now, 0..1; ends the recovery when it is over. */
  keepShare(now: number): number {
    if (!this.active) return 1
    const why = this.overBecause(now)
    if (why === undefined) return this.share(now)
    this.active = false
    this.tell('recovering', 'serving', why, now)
    return 1
  }

  private overBecause(now: number): string | undefined {
    const { usable, needed, total } = this
    if (usable <= 0) return undefined
    if (usable >= needed || usable >= total) return `${usable} of ${needed} needed are back`
    if (now - this.changedAt >= this.settings.holdMs)
      return `${usable} usable, unchanged for ${this.settings.holdMs} ms`
    return undefined
  }

  /** The same without ending anything. */
  share(now: number): number {
    if (!this.active || this.overBecause(now) !== undefined) return 1
    const { redundancy, form, holdMs, trustHistory } = this.settings
    if (this.usable <= 0) return 0
    if (trustHistory && this.carried > 0 && this.perSecond(OFFERED, now) <= this.carried * this.usable) return 1
    const base = this.usable / (form === 'q/n' ? this.needed : this.needed * redundancy)
    return base + ((1 - base) * (now - this.changedAt)) / holdMs
  }

  /** Milliseconds until everything passes, if nothing changes. */
  leftMs(now: number): number {
    return this.active ? Math.max(0, this.changedAt + this.settings.holdMs - now) : 0
  }

  private perSecond(lane: number, now: number): number {
    return this.rate.total(lane, now) / (RATE_SPAN_MS / 1000)
  }

  private tell(from: string, to: string, why: string, now: number): void {
    this.env.emit({ type: 'state', at: now, path: this.env.path, from, to, why })
  }
}
