import { ErrorCost } from '../../src/algorithms/trips/error-cost.ts'
import type { ErrorCostOptions } from '../../src/algorithms/trips/error-cost-options.ts'
import type { Trip } from '../../src/algorithms/trips/trip.ts'
import { BrpcCircuitBreaker, type BrpcFlags } from '../../src/compat/brpc/index.ts'
import { seeded } from '../../src/testing/random.ts'

/** What a judge is told of a call. True: open. */
export type Judge = (failed: boolean, tookMs: number, now: number, lane?: number) => boolean

export function judgeOf(trip: Trip): Judge {
  return (failed, tookMs, now, lane) => trip.record(failed ? 'failure' : 'success', tookMs, now, lane)
}

export function errorCost(options: ErrorCostOptions = {}): Judge {
  return judgeOf(new ErrorCost(options))
}

export function brpc(flags: BrpcFlags = {}): Judge {
  const breaker = new BrpcCircuitBreaker(flags)
  return (failed, tookMs, now) => !breaker.onCallEnd(failed ? 1008 : 0, Math.round(tookMs * 1000), now)
}

export interface Traffic {
  readonly callsPerSecond: number
  /** Of failures. */
  readonly share: number
  /** What a success takes on average; each takes between half and one and a half of it. Default 10. */
  readonly normalMs?: number
  /** What a failure takes, in normal successes. Default 1. */
  readonly failureTakes?: number
  readonly seed?: number
}

/** A time like any other, with the 30 s behind it that brpc waits for. */
export const START = 1_000_000

/** So many healthy calls, then the traffic; after how many of its calls the judge opens. `undefined`: not within `most`. */
export function callsToOpen(judge: Judge, traffic: Traffic, most: number, healthyFirst = 0): number | undefined {
  const { callsPerSecond, share, normalMs = 10, failureTakes = 1, seed = 1 } = traffic
  const random = seeded(seed)
  let now = START
  for (let i = 1 - healthyFirst; i <= most; i++) {
    now += 1000 / callsPerSecond
    const failed = random() < share && i > 0
    const tookMs = failed ? normalMs * failureTakes : normalMs * (0.5 + random())
    if (judge(failed, tookMs, now) && i > 0) return i
  }
  return undefined
}

/** One failure in every `n` calls, all of the same latency. */
export function opensAtOneIn(judge: Judge, n: number, calls: number, failureTakes = 1, callsPerSecond = 1e9): boolean {
  for (let i = 1; i <= calls; i++) {
    const failed = i % n === 0
    if (judge(failed, failed ? 10 * failureTakes : 10, START + (i * 1000) / callsPerSecond)) return true
  }
  return false
}
