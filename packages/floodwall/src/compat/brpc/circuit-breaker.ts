import { parse } from '../../core/schema.ts'
import { BrpcErrorRecorder } from './error-recorder.ts'
import { type BrpcFlags, type BrpcFlagValues, brpcFlags } from './flags.ts'

// Is this server healthy, as apache/brpc would say?
//
// A replica of its circuit breaker (commit 71871ee9), for those who tuned the flags there: two windows, a first window that counts errors,
// whole numbers, isolation times that double, the optional half-open phase. It judges results and stops nothing: who asks it takes the
// server out for `isolationDurationMs`, and calls `reset` when that is over, before the health check.
//
// Defaults, all calls failing from the start: 150 errors pass and the 151st isolates for 100 ms (200 ms on a clock that starts below 30 s).
//
// Invariant: given the same calls at the same milliseconds, every answer and every number inside is brpc's. What is better done otherwise
// is in `ErrorCost`, the default of our own breaker.

/** ELIMIT: the server was at its limit, which is no fault. */
const AT_LIMIT = 2004

export class BrpcCircuitBreaker {
  readonly long: BrpcErrorRecorder
  readonly short: BrpcErrorRecorder
  private flags: BrpcFlagValues
  private lastResetMs = 0
  private durationMs: number
  private isBroken = false
  private times = 0
  /** The first reset arms it: a breaker that never broke is never half-open. */
  private isHalfOpen = false
  private successes = 0

  constructor(flags: BrpcFlags = {}) {
    this.flags = parse(brpcFlags, flags, 'brpc')
    const { longWindowSize, longWindowErrorPercent, shortWindowSize, shortWindowErrorPercent, epsilonValue } =
      this.flags
    this.long = new BrpcErrorRecorder(longWindowSize, longWindowErrorPercent, epsilonValue)
    this.short = new BrpcErrorRecorder(shortWindowSize, shortWindowErrorPercent, epsilonValue)
    this.durationMs = this.flags.minIsolationDurationMs
  }

  /** False until the next `reset`. */
  get broken(): boolean {
    return this.isBroken
  }

  /** How often it broke. */
  get isolatedTimes(): number {
    return this.times
  }

  /** How long the server is to be left alone this time. */
  get isolationDurationMs(): number {
    return this.durationMs
  }

  get halfOpen(): boolean {
    return this.isHalfOpen
  }

  /** Successes of the half-open phase so far. */
  get halfOpenSuccesses(): number {
    return this.successes
  }

  /**
   * One attempt ended. False: isolate the server.
   *
   * @param errorCode 0 is success; 2004 (ELIMIT) is not looked at
   * @param latencyUs in microseconds, cut to whole ones
   * @param now in milliseconds, cut to whole ones
   */
  onCallEnd(errorCode: number, latencyUs: number, now: number): boolean {
    if (errorCode === AT_LIMIT) return true
    if (this.isBroken) return false
    const failed = errorCode !== 0
    if (this.flags.halfOpenWindowSize > 0 && this.isHalfOpen && !this.tried(failed, now)) return false
    const took = Number.isFinite(latencyUs) ? Math.trunc(latencyUs) : 0
    // The short window does not see a call that the long one could not bear.
    if (this.long.onCallEnd(failed, took, this.flags) && this.short.onCallEnd(failed, took, this.flags)) return true
    this.markAsBroken(now)
    return false
  }

  private tried(failed: boolean, now: number): boolean {
    if (failed) {
      this.markAsBroken(now)
      return false
    }
    this.successes++
    // Equal, not at least: a size that is made smaller meanwhile is never met, as there.
    if (this.successes === this.flags.halfOpenWindowSize) {
      this.isHalfOpen = false
      this.successes = 0
    }
    return true
  }

  /** Breaks it by hand, as any lost connection does. */
  markAsBroken(now: number): void {
    if (this.isBroken) return
    this.isBroken = true
    this.times++
    const { minIsolationDurationMs: least, maxIsolationDurationMs: most } = this.flags
    const soonAgain = Math.trunc(now) - this.lastResetMs < most
    this.durationMs = soonAgain ? Math.min(this.durationMs * 2, most) : least
  }

  /** The isolation is over. */
  reset(now: number): void {
    this.long.reset()
    this.short.reset()
    this.lastResetMs = Math.trunc(now)
    this.isBroken = false
    if (this.flags.halfOpenWindowSize > 0) {
      this.isHalfOpen = true
      this.successes = 0
    }
  }

  /** Other flags from here on. Window sizes, percents and the decay stay as they were at construction. */
  setFlags(changes: BrpcFlags): void {
    this.flags = parse(brpcFlags, { ...this.flags, ...changes }, 'brpc')
  }
}
