import * as v from 'valibot'
import { parse } from '../../core/schema.ts'
import { type SentinelFlowRule, type SentinelFlowRuleValues, sentinelFlowRule } from './flow-rule.ts'
import { SentinelWarmUp } from './flow-warm-up.ts'
import { FlowWindow } from './flow-window.ts'

// May this resource be entered, and after which wait, as its flow rules in Sentinel would say?
//
// A replica of the flow slots of alibaba/sentinel-golang (commit f7a7f957), for those who tuned their rules there, and to compare with. The rules
// of a resource are asked in their order; the waits add up; the first refusal counts, and what was counted on is moved only if all pass.
//
// Throttling, 10/s, queue 500 ms: six at once pass after 0, 100, ... 500 ms, the seventh is refused.
//
// Invariant: given the same calls at the same milliseconds, answers, waits and warm-up numbers are Sentinel's. With its faults: a threshold
// below one refuses every call, windows of odd lengths forget everything at once, a refusal by a later rule keeps the turn that an
// earlier one gave. `rateLimit` and `pace` have none of them.

const rulesOf = v.array(sentinelFlowRule)

/** All resources share these: 20 buckets of 500 ms. */
const SHARED_MS = 500
const SHARED_BUCKETS = 20

/** What becomes of who enters. `waitNs`: he goes on after so many nanoseconds. `blockedBy`: the id of the rule, or its resource. */
export type SentinelFlowAnswer =
  | { readonly pass: true; readonly waitNs: number }
  | { readonly pass: false; readonly blockedBy: string }

/** The rules and the passes of some resources. */
export class SentinelFlow {
  private readonly windows = new Map<string, FlowWindow>()
  private list: readonly RuleInForce[] = []

  /** Replaces all rules. Throws a ConfigError on what is no rule. */
  loadRules(rules: readonly SentinelFlowRule[]): void {
    const values = parse(rulesOf as v.GenericSchema<unknown, SentinelFlowRuleValues[]>, rules, 'rules')
    this.list = values.map((rule) => new RuleInForce(rule))
  }

  /** `now` in whole milliseconds of one clock that does not step back. */
  enter(resource: string, batch: number, now: number): SentinelFlowAnswer {
    const mine = this.list.filter(({ rule }) => rule.resource === resource)
    let waitNs = 0
    for (const inForce of mine) {
      const { id, refResource, relationStrategy } = inForce.rule
      const about = this.windowOf(relationStrategy === 'AssociatedResource' ? refResource : resource)
      const answer = inForce.check(batch, about, now)
      if (answer < 0) return { pass: false, blockedBy: id === '' ? resource : id }
      waitNs += answer
    }
    this.windowOf(resource).add(batch, now)
    for (const { own } of mine) own?.add(batch, now)
    return { pass: true, waitNs }
  }

  /** The warm-up of the rule with this id. */
  warmUp(id: string): SentinelWarmUp | undefined {
    return this.list.find(({ rule }) => rule.id === id)?.warmUp
  }

  /** The threshold that the rule with this id looked at last. */
  allowed(id: string): number | undefined {
    return this.list.find(({ rule }) => rule.id === id)?.allowed
  }

  private windowOf(resource: string): FlowWindow {
    const known = this.windows.get(resource)
    if (known !== undefined) return known
    const fresh = new FlowWindow(SHARED_MS, SHARED_BUCKETS)
    this.windows.set(resource, fresh)
    return fresh
  }
}

/** A rule with what it remembers. */
class RuleInForce {
  readonly rule: SentinelFlowRuleValues
  readonly warmUp: SentinelWarmUp | undefined
  /** Where its interval does not fit the shared buckets: one bucket of its own. */
  readonly own: FlowWindow | undefined
  allowed: number
  private readonly intervalMs: number
  /** When the last one passes, in nanoseconds since {@link epochMs}: those since 1970 would not fit a double. */
  private lastNs = Number.NEGATIVE_INFINITY
  private epochMs = Number.NaN

  constructor(rule: SentinelFlowRuleValues) {
    const { threshold, statIntervalInMs, tokenCalculateStrategy, warmUpPeriodSec, warmUpColdFactor } = rule
    this.rule = rule
    this.intervalMs = statIntervalInMs === 0 ? 1000 : statIntervalInMs
    const shared = this.intervalMs % SHARED_MS === 0 && this.intervalMs <= SHARED_MS * SHARED_BUCKETS
    this.own = shared ? undefined : new FlowWindow(this.intervalMs, 1)
    const warms = tokenCalculateStrategy === 'WarmUp'
    this.warmUp = warms ? new SentinelWarmUp(threshold, warmUpPeriodSec, warmUpColdFactor) : undefined
    this.allowed = threshold
  }

  /** Nanoseconds to wait; -1: refused. */
  check(batch: number, shared: FlowWindow, now: number): number {
    const window = this.own ?? shared
    const { warmUp } = this
    if (warmUp !== undefined) this.allowed = warmUp.allowed(window.previousPerSecond(this.intervalMs, now), now)
    if (this.rule.controlBehavior === 'Throttling') return this.throttle(batch, now)
    return window.sum(this.intervalMs, now) + batch > this.allowed ? -1 : 0
  }

  private throttle(batch: number, now: number): number {
    if (batch <= 0) return 0
    if (this.allowed <= 0 || batch > this.allowed) return -1
    if (Number.isNaN(this.epochMs)) this.epochMs = now
    const nowNs = (now - this.epochMs) * 1e6
    const expectedNs = this.lastNs + Math.ceil((batch / this.allowed) * this.intervalMs * 1e6)
    if (expectedNs <= nowNs) {
      this.lastNs = nowNs
      return 0
    }
    const waitNs = expectedNs - nowNs
    if (waitNs > this.rule.maxQueueingTimeMs * 1e6) return -1
    this.lastNs = expectedNs
    return waitNs
  }
}
