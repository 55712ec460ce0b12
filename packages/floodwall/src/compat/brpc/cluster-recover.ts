import * as v from 'valibot'
import { amountOrZero, parse } from '../../core/schema.ts'

// How much of the traffic may a cluster get that is coming back, as apache/brpc would say?
//
// A replica of its cluster recovery (commit 71871ee9). A selection that finds no server starts it; from then on a call is kept with the
// probability usable / needed, until the number of usable servers has stayed the same for longer than the hold time.
//
// 6 needed, 2 usable: a draw of 0 or 1 from 0..5 passes, two thirds are rejected; with 6 or more nothing is.
//
// Invariant: given the same counts, draws and milliseconds, every answer is brpc's. With its faults: the end is only looked for when a call
// comes, and before the count is looked at, so that after a pause an old count ends it; a count that flaps keeps it going for ever.

const positive = v.custom<number>((n) => typeof n === 'number' && n > 0 && n < Infinity, 'a number above 0')
const wholeFromOne = v.custom<number>((n) => Number.isInteger(n) && Number(n) >= 1, 'a whole number from 1')

/** The parameters of `parseBrpcRecoverParams`, and the flag `detect_available_server_interval_ms`. */
export const brpcRecoverOptions = v.strictObject({
  minWorkingInstances: wholeFromOne,
  holdSeconds: positive,
  /** The usable servers are counted at most this often. Default 10. */
  detectIntervalMs: v.optional(amountOrZero, 10),
})

export type BrpcRecoverOptions = v.InferInput<typeof brpcRecoverOptions>
export type BrpcRecoverSettings = v.InferOutput<typeof brpcRecoverOptions>

export class BrpcClusterRecover {
  readonly settings: BrpcRecoverSettings
  private readonly countUsable: () => number
  private readonly random: () => number
  private isRecovering = false
  private lastUsable = 0
  private lastChangeMs = 0
  private cached = 0
  private cachedAtMs = 0

  /**
   * @param countUsable how many servers can be selected now
   * @param random uniform in [0, 1)
   */
  constructor(options: BrpcRecoverOptions, countUsable: () => number, random: () => number) {
    this.settings = parse(brpcRecoverOptions, options, 'brpcRecover')
    this.countUsable = countUsable
    this.random = random
  }

  get recovering(): boolean {
    return this.isRecovering
  }

  /** What it remembers, under the names that brpc has for it. */
  get state(): {
    readonly lastUsable: number
    readonly lastUsableChangeTimeMs: number
    readonly usableCache: number
    readonly usableCacheTimeMs: number
  } {
    return {
      lastUsable: this.lastUsable,
      lastUsableChangeTimeMs: this.lastChangeMs,
      usableCache: this.cached,
      usableCacheTimeMs: this.cachedAtMs,
    }
  }

  /** A selection found no server. Once more while recovering changes nothing. */
  startRecover(): void {
    this.isRecovering = true
  }

  /** To be asked before each selection. True: still recovering, so ask `doReject`. */
  stopRecoverIfNecessary(now: number): boolean {
    if (!this.isRecovering) return false
    const held = Math.trunc(now) - this.lastChangeMs
    if (this.lastChangeMs !== 0 && this.lastUsable !== 0 && held > this.settings.holdSeconds * 1000) {
      this.isRecovering = false
      this.lastUsable = 0
      this.lastChangeMs = 0
    }
    return this.isRecovering
  }

  /** True: this call is not to be sent (brpc's EREJECT). */
  doReject(now: number): boolean {
    if (!this.isRecovering) return false
    const nowMs = Math.trunc(now)
    const usable = this.usable(nowMs)
    if (usable !== this.lastUsable) {
      this.lastUsable = usable
      this.lastChangeMs = nowMs
    }
    return Math.floor(this.random() * this.settings.minWorkingInstances) >= usable
  }

  /** On a clock below the interval this is the 0 that it began with, as there. */
  private usable(nowMs: number): number {
    if (nowMs - this.cachedAtMs >= this.settings.detectIntervalMs) {
      this.cached = this.countUsable()
      this.cachedAtMs = nowMs
    }
    return this.cached
  }
}
