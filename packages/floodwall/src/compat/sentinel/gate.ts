import * as v from 'valibot'
import { type Ask, type Gate, Permit, Rejection, type Snapshot } from '../../core/gate.ts'
import { snapshotOf } from '../../core/layer.ts'
import type { Verdict } from '../../core/outcome.ts'
import { type Env, envOf } from '../../core/runtime.ts'
import { parse, type Schema } from '../../core/schema.ts'
import { systemRuntime } from '../../core/system.ts'
import { SentinelBreaker, type SentinelState } from './breaker.ts'
import {
  isValid,
  type SentinelRule,
  type SentinelRuleValues,
  sameBreaker,
  sameStatistics,
  sentinelRule,
} from './rule.ts'

// May this call of a resource pass, as all of its rules in Sentinel would say?
//
// Source: the circuit breaking slots and the rule manager of alibaba/sentinel-golang (commit f7a7f957). The breakers are asked in the order
// of the rules, the first refusal counts; an end goes to all that there are when it comes, whoever let the call in.
//
// Two rules, both open since 0, retry timeouts of 1 and 3 s: a call at 2 s makes the first half-open, is refused by the second, and takes
// the first back to open. So does the next one.
//
// Invariant: as for one breaker. A permit that is cancelled takes back what it made half-open, and nothing else.

const rulesOf = v.array(sentinelRule)

/** What `inspect()` shows. */
export const sentinelSnapshot: Schema = v.strictObject({
  ...snapshotOf('sentinel'),
  resource: v.string(),
  breakers: v.array(
    v.strictObject({
      path: v.string(),
      strategy: v.string(),
      state: v.picklist(['closed', 'open', 'halfOpen']),
      /** Milliseconds until a call may try; 0 unless open. */
      probeInMs: v.number(),
      total: v.number(),
      /** Slow ones, or errors. */
      bad: v.number(),
      goodProbes: v.number(),
    }),
  ),
})

/** Hears of each change of state. */
export type OnSentinelChange = (breaker: SentinelBreaker, from: SentinelState) => void

export class SentinelGate implements Gate {
  readonly kind = 'sentinel'
  readonly path: string
  /** A rule that judges latency can be loaded at any time. */
  readonly timed = true
  readonly resource: string
  private readonly env: Env
  private readonly onChange: OnSentinelChange | undefined
  private list: readonly SentinelBreaker[] = []
  /** The rules as they were given last. */
  private loaded = '[]'
  /** What a call in flight has made half-open: forgotten with its permit. */
  private readonly probing = new WeakMap<Permit, readonly SentinelBreaker[]>()

  /**
   * Nothing is refused before rules are loaded.
   *
   * @param env its clock is taken for Sentinel's, cut to whole milliseconds: windows begin at its multiples
   */
  constructor(resource: string, env: Env = envOf(systemRuntime, resource), onChange?: OnSentinelChange) {
    this.resource = resource
    this.path = env.path
    this.env = env
    this.onChange = onChange
  }

  /** One for each rule, in the order in which they are asked. */
  get breakers(): readonly SentinelBreaker[] {
    return this.list
  }

  /**
   * Replaces the rules by those of the list that are about this resource and that Sentinel finds valid; false when they are the same as
   * before. A breaker of an equal rule stays as it is, one with the same window lends it to a new breaker, which begins closed.
   *
   * @throws ConfigError on what is no rule
   */
  loadRules(rules: readonly SentinelRule[]): boolean {
    return this.load(rules, isValid)
  }

  /** The same as Sentinel's load for one resource does it: rules that are not valid become breakers as well. */
  loadRulesOfResource(rules: readonly SentinelRule[]): boolean {
    // Without an interval there is no window: that breaker cannot be made there either.
    return this.load(rules, ({ statIntervalMs }) => statIntervalMs > 0)
  }

  private load(rules: readonly SentinelRule[], loads: (rule: SentinelRuleValues) => boolean): boolean {
    const values = parse(rulesOf as v.GenericSchema<unknown, SentinelRuleValues[]>, rules, 'rules')
    const text = JSON.stringify(values)
    if (text === this.loaded) return false
    this.loaded = text
    const now = this.now
    const old = [...this.list]
    const mine = values.filter((rule) => rule.resource === this.resource && loads(rule))
    this.list = mine.map((rule, i) => this.breakerFor(rule, i, old, now))
    return true
  }

  /** Takes the breaker or the window out of `old`: the next rule cannot have it too. */
  private breakerFor(rule: SentinelRuleValues, i: number, old: SentinelBreaker[], now: number): SentinelBreaker {
    const equal = old.findIndex((breaker) => sameBreaker(breaker.rule, rule))
    if (equal >= 0) return old.splice(equal, 1)[0]!
    const alike = old.findIndex((breaker) => sameStatistics(breaker.rule, rule))
    const [lender] = alike < 0 ? [] : old.splice(alike, 1)
    const path = `${this.path}/${rule.id === '' ? i + 1 : rule.id}`
    return new SentinelBreaker(rule, path, this.changed, now, lender?.window)
  }

  private readonly changed = (breaker: SentinelBreaker, from: SentinelState, at: number): void => {
    const { state: to, path } = breaker
    const why = to === 'open' ? breaker.why : to === 'closed' ? 'the probes were good' : 'the retry timeout is over'
    this.onChange?.(breaker, from)
    this.env.emit({ type: 'state', at, path, from, to, why })
  }

  private get now(): number {
    return Math.floor(this.env.now())
  }

  tryAcquire(ask: Ask): Permit | Rejection {
    const now = Math.floor(ask.now)
    let probing: SentinelBreaker[] | undefined
    for (const breaker of this.list) {
      const answer = breaker.tryPass(now)
      if (answer === 'refuse') {
        const rejection = rejectionBy(breaker, now)
        for (const probed of probing ?? []) probed.rollBack(now)
        return rejection
      }
      if (answer === 'probe') (probing ??= []).push(breaker)
    }
    const permit = new Permit(this, 0)
    if (probing !== undefined) this.probing.set(permit, probing)
    return permit
  }

  /** An error is what was thrown, timed out, or said "too much": Sentinel knows no other words. Who left without one ended without one. */
  settled(_permit: Permit, verdict: Verdict, tookMs: number, now: number): void {
    const failed = verdict !== 'success' && verdict !== 'ignored'
    const at = Math.floor(now)
    const rtMs = Math.max(0, Math.floor(tookMs))
    for (const breaker of this.list) breaker.complete(rtMs, failed, at)
  }

  /** Only the call that made a breaker half-open takes it back; another probe that does not run leaves it as it is. */
  cancelled(permit: Permit, now: number): void {
    for (const breaker of this.probing.get(permit) ?? []) breaker.rollBack(Math.floor(now))
  }

  inspect(now: number): Snapshot {
    const at = Math.floor(now)
    const breakers = this.list.map(({ path, rule, state, nextRetryMs, window, goodProbes }) => {
      window.read(at)
      const probeInMs = state === 'open' ? Math.max(0, nextRetryMs - at) : 0
      return { path, strategy: rule.strategy, state, probeInMs, total: window.total, bad: window.bad, goodProbes }
    })
    return { kind: this.kind, path: this.path, resource: this.resource, breakers }
  }
}

function rejectionBy(breaker: SentinelBreaker, now: number): Rejection {
  const { openedBy, rule } = breaker
  if (breaker.state === 'halfOpen') return new Rejection(breaker, 'probing', 0, openedBy, rule.threshold)
  return new Rejection(breaker, 'open', breaker.nextRetryMs - now, openedBy, rule.threshold)
}
