import { showMs } from '../../core/duration.ts'
import { type Ask, type Refuser, Rejection, type Snapshot } from '../../core/gate.ts'
import type { Endpoint } from '../../core/init.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse } from '../../core/schema.ts'
import type { BreakerState } from '../gates/breaker-settings.ts'
import { WindowedMaximum } from '../stats/minimum.ts'
import { type ClusterOptions, type ClusterSettings, clusterOptions, pickerOf } from './cluster-settings.ts'
import type { Evidence } from './evidence.ts'
import { Member } from './member.ts'
import type { Picker } from './picker.ts'
import { Recovery } from './recovery.ts'
import { Roster } from './roster.ts'
import { Usable } from './usable.ts'
import type { ClusterWatcher } from './watcher.ts'

// Which of several endpoints gets this call, and which get none for now?
//
// Source: brpc's circuit breaker, health check and cluster recovery; Envoy's outlier detection for the cap. An endpoint that turns wrong is
// isolated by its own breaker, comes back through probes (or a health check, then probes), and joins again with a small share that grows.
//
// 10 endpoints, isolatedAtMost 0.5, six turn wrong: five are isolated, the sixth only loses weight. All refuse connections: all are
// isolated, whatever the cap, and the recovery decides what the first ones back may carry.
//
// Invariants: an endpoint is in choice, on probation (half-open) or out; out always has an end, a time or an armed check; isolation for
// results never passes the cap.

/** What placing a call came to: a member, and whether its gates are to be passed by (panic). */
export interface Placement {
  readonly ok: true
  readonly member: Member
  readonly panic: boolean
}

/** However often it trips in a recovery: enough to show that it is well again. */
const LEAST_SHARE = 1 / 64

/** Typical latency before anybody has answered: what two members without history are compared by does not matter, if it is the same. */
const UNKNOWN_MS = 1

export class Cluster implements Refuser {
  readonly kind = 'cluster'
  readonly path: string
  readonly settings: ClusterSettings
  private readonly env: Env
  private readonly picker: Picker
  private readonly recovery: Recovery
  private readonly roster: Roster
  /** @internal */ readonly usable: Usable
  private readonly slowest = new WindowedMaximum(10_000)
  private watchers: readonly ClusterWatcher[] = []
  /** As the settings say, or as fits those who watch. */
  private whenOut: 'recover' | 'panic'
  private capped = 0

  constructor(options: ClusterOptions, env: Env) {
    this.path = env.path
    this.env = env
    this.settings = parse(clusterOptions, options, 'cluster')
    const { recovery, picker, zone } = this.settings
    this.whenOut = this.whenOutNow()
    this.picker = pickerOf(picker)
    this.recovery = new Recovery(
      {
        redundancy: recovery.redundancy,
        form: recovery.form,
        holdMs: recovery.hold,
        trustHistory: recovery.trustHistory,
      },
      env,
    )
    const { stall, hold } = recovery
    if (stall !== undefined && hold < stall) {
      const why = `recovery.hold (${showMs(hold)}) is shorter than the longest stall (${showMs(stall)}): a recovery may end while endpoints still load`
      env.emit({ type: 'warning', at: env.now(), path: env.path, why })
    }
    this.roster = new Roster(zone, (endpoint) => this.enlist(endpoint))
    this.usable = new Usable(this.roster)
  }

  private enlist(endpoint: Endpoint): Member {
    const { isolation, maxInFlight, slowStart } = this.settings
    const env: Env = { ...envOf(this.env, `${this.path}/${endpoint.id}`), share: this.env.share }
    return new Member(endpoint, env, {
      isolation,
      maxInFlight,
      slowStartMs: slowStart,
      mayOpen: (member) => this.mayIsolate(member),
      mayGrow: () => this.roster.choice.length > 0 || this.roster.all.length === 1,
      mayProbe: (member, now) => this.watchers.every((w) => w.mayProbe?.(member, now) ?? true),
      moved: (member, to, now) => this.moved(member, to, now),
      heard: (member, verdict, tookMs, now) => this.heard(member, verdict, tookMs, now),
    })
  }

  /** The endpoints are these now: kept ones keep their state, dropped ones finish what they have and are forgotten. */
  update(endpoints: readonly Endpoint[]): void {
    const now = this.env.now()
    this.roster.update(endpoints, now)
    this.picker.changed?.(this.roster.all)
    this.readmitExcess()
    this.weigh(now)
    for (const watcher of this.watchers) watcher.updated?.(this.roster.all, now)
  }

  /** Tells `watcher` of every change from now on; returns the way to stop. */
  watch(watcher: ClusterWatcher): () => void {
    this.watchers = [...this.watchers, watcher]
    this.whenOut = this.whenOutNow()
    return () => {
      this.watchers = this.watchers.filter((w) => w !== watcher)
      this.whenOut = this.whenOutNow()
      // Who waited for its word only may be probed by the next call.
      this.roster.lookAhead(this.env.now())
    }
  }

  private whenOutNow(): 'recover' | 'panic' {
    const checked = this.watchers.some(({ mayProbe }) => mayProbe !== undefined)
    return this.settings.whenOut ?? (checked ? 'recover' : 'panic')
  }

  /** A place for this call, or why there is none. `tried` says which members the operation went to already. */
  place(ask: Ask, tried: (member: Member) => boolean): Placement | Rejection {
    const { now } = ask
    this.recovery.offered(now)
    const { roster } = this
    if (now >= roster.nextProbeAt) roster.probeDue(now)
    for (const member of roster.probation) {
      if (member.breaker.freeProbes(now) > 0 && !tried(member)) return { ok: true, member, panic: false }
    }
    if (this.panics()) return this.pick(roster.all, ask, tried, true)
    if (roster.choice.length === 0) return this.noEndpoint(now)
    const keep = this.recovery.keepShare(now)
    if (keep < 1 && this.env.random() >= keep) {
      // What the first ones back cannot carry: to all, as a moment ago, or to nobody.
      if (this.whenOut === 'panic') return this.pick(roster.all, ask, tried, true)
      return new Rejection(this, 'recovering', this.recovery.leftMs(now), keep, 1)
    }
    return this.pick(roster.preferred(), ask, tried, false)
  }

  private pick(
    members: readonly Member[],
    ask: Ask,
    tried: (member: Member) => boolean,
    panic: boolean,
  ): Placement | Rejection {
    const { now } = ask
    const { random } = this.env
    const typicalMs = this.slowest.value(now) ?? UNKNOWN_MS
    const member = this.picker.pick({
      members,
      version: this.roster.version,
      maxWeight: this.roster.maxWeight,
      ask,
      now,
      random,
      typicalMs,
      tried,
    })
    return member === undefined ? this.noEndpoint(now) : { ok: true, member, panic }
  }

  private panics(): boolean {
    const { choice, all } = this.roster
    return this.whenOut === 'panic' && all.length > 0 && choice.length <= this.settings.panicBelow * all.length
  }

  private noEndpoint(now: number): Rejection {
    const { all, choice, nextProbeAt } = this.roster
    const wait = Number.isFinite(nextProbeAt) ? Math.max(0, nextProbeAt - now) : 0
    return new Rejection(this, 'unreachable', wait, choice.length, all.length)
  }

  /** Latencies that others are compared with. A failure is booked as the slowest success of late: the broken one must not look fast. */
  private heard(member: Member, verdict: Verdict, tookMs: number, now: number): void {
    if (verdict === 'success') {
      this.slowest.record(tookMs, now)
      this.recovery.carriedOne(now)
    } else if (verdict !== 'ignored') member.penalise(Math.max(tookMs, this.slowest.value(now) ?? 0), now)
  }

  /** A connection could not be made, nothing was sent: no statistics are needed to see that this endpoint is out. */
  connectFailed(member: Member, how: 'refused' | 'timeout', why: string): void {
    // Out already, and reached in a panic: that it is out is no news, and must not keep it out.
    if (member.isolated) return
    if (how === 'timeout' && ++member.connectTimeouts < this.settings.connectTimeouts) return
    member.byResults = false
    member.breaker.openNow(`cannot connect: ${why}`)
  }

  /** Facts from another process that sends to the same endpoints: counted as if they had happened here. Serialisable. */
  report(evidence: Evidence): void {
    this.roster.get(evidence.endpoint)?.observe(evidence, this.env.now())
  }

  /**
   * Takes an endpoint out for `forMs`, whatever it does: an operator, another process, a failed check. Without `forMs` for the breaker's
   * time, the next, longer one when its last was over. Serialisable.
   */
  isolate(id: string, forMs: number | undefined, why: string): boolean {
    const member = this.roster.get(id)
    if (member === undefined) return false
    member.byResults = false
    member.breaker.openNow(why, forMs, true)
    return true
  }

  get members(): readonly Member[] {
    return this.roster.all
  }

  /** The cap, asked before a breaker opens for results. */
  private mayIsolate(member: Member): boolean {
    member.byResults = true
    const { minWorking = 0 } = this.settings.recovery
    // Who is needed stays, whatever his results: without him the rest is overrun, and fails in its turn until nobody is left.
    if (this.roster.choice.length <= minWorking) {
      // It trips again under its share of a recovery: half of it is what it may be asked to carry.
      if (this.recovery.recovering) {
        const now = this.env.now()
        member.recoveryShare = Math.max(LEAST_SHARE, member.recoveryShare / 2)
        member.breaker.forget(now)
        this.weigh(now)
      }
      return this.cap()
    }
    const allowed = this.allowedOut()
    const isolated = this.roster.all.filter((m) => m !== member && m.byResults && m.isolated).length
    return isolated + 1 <= allowed || this.cap()
  }

  private cap(): false {
    this.capped++
    return false
  }

  private allowedOut(): number {
    const { isolatedAtMost, isolatedAlways } = this.settings
    // The grain: 0.67 · 3 must be 2 and 0.29 · 100 must be 29, also in binary.
    return Math.max(isolatedAlways, Math.floor(isolatedAtMost * this.roster.all.length + 1e-9))
  }

  /** Discovery took endpoints away and the isolated ones are too many now: the one that would return first returns. */
  private readmitExcess(): void {
    const isolated = this.roster.all
      .filter((m) => m.byResults && m.isolated)
      .sort((a, b) => a.breaker.until - b.breaker.until)
    for (const member of isolated.slice(0, Math.max(0, isolated.length - this.allowedOut()))) {
      member.breaker.steer('closed', 'too many are isolated')
    }
  }

  private moved(member: Member, to: BreakerState, now: number): void {
    // Only who was in choice has tripped under its share; one more failed check or late failure of an isolated one says nothing about it.
    if (to === 'open' && this.recovery.recovering && member.index >= 0) {
      member.recoveryShare = Math.max(LEAST_SHARE, member.recoveryShare / 2)
    }
    this.roster.moved(member, to, now)
    this.weigh(now)
    for (const watcher of this.watchers) watcher.moved?.(member, to, now)
  }

  private weigh(now: number): void {
    const { all, choice } = this.roster
    const { minWorking, redundancy } = this.settings.recovery
    const total = all.reduce((sum, m) => sum + m.weight, 0)
    const usable = choice.reduce((sum, m) => sum + m.weight * m.recoveryShare, 0)
    const needed = Math.min(minWorking ?? Math.ceil(total / redundancy), total)
    this.recovery.changed({ usable, needed, total, endpoints: all.length }, now)
    if (!this.recovery.recovering) for (const member of all) member.recoveryShare = 1
  }

  explain(rejection: Rejection): string {
    if (rejection.reason === 'recovering')
      return `all were out; ${Math.round(rejection.value * 100)} % of the calls are let through`
    return rejection.limit === 0 ? 'no endpoint is known' : `none of ${rejection.limit} endpoints is in choice`
  }

  inspect(now: number): Snapshot {
    const { all, choice, probation } = this.roster
    return {
      kind: this.kind,
      path: this.path,
      picker: this.picker.kind,
      endpoints: all.map((m) => m.inspect(now)),
      inChoice: choice.length,
      onProbation: probation.length,
      recovering: this.recovery.recovering,
      keepShare: this.recovery.share(now),
      allOut: this.recovery.times,
      cappedIsolations: this.capped,
    }
  }
}
