import type { Cluster } from '../algorithms/cluster/cluster.ts'
import type { Member } from '../algorithms/cluster/member.ts'
import type { BreakerState } from '../algorithms/gates/breaker-settings.ts'
import { showMs } from '../core/duration.ts'
import { isThenable } from '../core/leaf.ts'
import type { Runtime } from '../core/runtime.ts'
import { faultOf, type Prober } from './prober.ts'

// Is this endpoint well, and when do we look next?
//
// Source: health checks of brpc and Envoy. In choice it is looked at every interval, and `fall` failures in a row isolate it. Isolated it
// sleeps until its breaker's time is over, is looked at then, and again until `rise` looks in a row were good: then calls may probe it. A bad
// look there isolates it anew, for the next, longer time: one schedule for both (brpc #2400).
//
// Invariant: until it is closed exactly one thing is pending, a timer or a check with a deadline. So nobody is isolated for good: brpc's
// endpoints were, when a second failure came while the first was being revived (#1874, #3058).

/** Each interval is up to this share shorter or longer: what began in step does not stay so. */
const JITTER = 0.1

export interface CheckPlan {
  readonly probe: Prober
  readonly intervalMs: number
  readonly timeoutMs: number
  readonly rise: number
  readonly fall: number
}

/** The checks of one endpoint. */
export class Checkup {
  readonly member: Member
  /** Its checks have passed since it was isolated: calls may probe it. */
  cleared = false
  checks = 0
  failures = 0
  /** Times that checks isolated it, and let calls probe it. */
  isolations = 0
  returns = 0
  /** Why the last check failed; empty when it passed. */
  fault = ''
  private readonly cluster: Cluster
  private readonly plan: CheckPlan
  private readonly runtime: Runtime
  /** In a row. */
  private passed = 0
  private failed = 0
  /** Counts isolations: what began before the last one says nothing about it. */
  private round = 0
  private cancelTimer: (() => void) | null = null
  private nextAt = 0
  /** The timer is for the end of an isolation. */
  private asleep = false
  private stopCheck: (() => void) | null = null
  private closed = false

  constructor(member: Member, cluster: Cluster, plan: CheckPlan, runtime: Runtime) {
    this.member = member
    this.cluster = cluster
    this.plan = plan
    this.runtime = runtime
    // Anywhere in the first interval: a process that starts must not look at all endpoints at once, nor at one with all its sisters.
    if (this.sleepMs() > 0) this.arm()
    else this.wait(plan.intervalMs * runtime.random())
  }

  /** A check is running. */
  get checking(): boolean {
    return this.stopCheck !== null
  }

  /** Milliseconds until the next check; 0 while one is running. */
  nextInMs(now: number): number {
    return this.checking ? 0 : Math.max(0, this.nextAt - now)
  }

  /** Its breaker is in another state, or open until another time. */
  moved(to: BreakerState): void {
    if (to === 'open') {
      this.round++
      this.cleared = false
      this.passed = 0
      this.failed = 0
    } else if (!this.asleep) return
    // A check that runs plans the next one when it ends.
    if (!this.checking) this.arm()
  }

  close(): void {
    this.closed = true
    this.cancelTimer?.()
    this.cancelTimer = null
    this.stopCheck?.()
    this.stopCheck = null
  }

  private arm(): void {
    const sleep = this.sleepMs()
    if (sleep > 0) this.wait(sleep, true)
    else this.wait(this.plan.intervalMs * (1 - JITTER + 2 * JITTER * this.runtime.random()))
  }

  /** For a time, that is: what an operator has forced open stays so, and we look as ever. */
  private get isolated(): boolean {
    const { breaker } = this.member
    return breaker.out && Number.isFinite(breaker.until)
  }

  /** What is left of its isolation. */
  private sleepMs(): number {
    return this.isolated ? Math.max(0, this.member.breaker.until - this.runtime.now()) : 0
  }

  private wait(ms: number, asleep = false): void {
    this.cancelTimer?.()
    this.asleep = asleep
    this.nextAt = this.runtime.now() + ms
    this.cancelTimer = this.runtime.after(ms, this.due, true)
  }

  private readonly due = (): void => {
    this.cancelTimer = null
    const early = this.asleep ? this.sleepMs() : 0
    // Node's timers may come a millisecond early; the next one a little late, so that it is not early for ever.
    if (early > 0) return this.wait(early + 1, true)
    this.asleep = false
    this.check()
  }

  private check(): void {
    const { plan, runtime, member, round } = this
    const controller = new AbortController()
    this.stopCheck = () => {
      cancelDeadline()
      controller.abort()
    }
    const running = this.stopCheck
    // Counts once, and not when the check was stopped.
    const end = (fault: string) => {
      if (this.stopCheck !== running) return
      this.stopCheck = null
      cancelDeadline()
      this.ended(fault, round)
    }
    const late = () => {
      end(`no answer within ${showMs(plan.timeoutMs)}`)
      controller.abort()
    }
    const cancelDeadline = runtime.after(plan.timeoutMs, late, true)
    const answered = (answer: unknown) => end(answer === false ? 'the check says no' : '')
    const threw = (error: unknown) => end(faultOf(error))
    try {
      const result = plan.probe(member.endpoint, controller.signal)
      if (isThenable(result)) result.then(answered, threw)
      else answered(result)
    } catch (error) {
      threw(error)
    }
  }

  private ended(fault: string, round: number): void {
    this.checks++
    this.fault = fault
    if (fault !== '') this.failures++
    if (round === this.round) {
      if (fault === '') this.pass()
      else this.fail(fault)
    }
    // Isolating has planned the next check already.
    if (this.cancelTimer === null && !this.closed) this.arm()
  }

  private pass(): void {
    this.failed = 0
    this.passed++
    if (!this.isolated || this.passed < this.plan.rise) return
    if (!this.cleared) this.returns++
    this.cleared = true
    this.member.breaker.probeNow(this.runtime.now())
  }

  private fail(fault: string): void {
    const { id } = this.member.endpoint
    this.passed = 0
    this.failed++
    if (this.isolated) {
      this.cluster.isolate(id, undefined, `a check failed: ${fault}`)
      return
    }
    // What an operator has put into another state stays there.
    const state = this.member.breaker.state(this.runtime.now())
    if (this.failed < this.plan.fall || (state !== 'closed' && state !== 'halfOpen')) return
    this.isolations++
    this.cluster.isolate(id, undefined, `${this.failed} checks failed, the last: ${fault}`)
  }
}
