import { rateOf } from '../../src/algorithms/gates/rate-limit-algorithms.ts'
import {
  type RateAlgorithm,
  type RateOptions,
  type RateSettings,
  rateOptions,
} from '../../src/algorithms/gates/rate-limit-settings.ts'
import { Pacer } from '../../src/algorithms/rates/pacer.ts'
import type { Reservable } from '../../src/algorithms/rates/rate.ts'
import { parse } from '../../src/core/schema.ts'

/** Grants of a rate, in order. */
export interface Grant {
  readonly at: number
  readonly cost: number
}

export const BUCKETS = ['tokenBucket', 'gcra', 'leakyBucket', 'warmUp', 'pacer'] as const
const WINDOWS = ['slidingWindow', 'slidingLog', 'fixedWindow'] as const
export type Algorithm = RateAlgorithm | 'pacer'
export const ALGORITHMS: readonly Algorithm[] = [...BUCKETS, ...WINDOWS]

export interface Wanted {
  readonly rate: number
  readonly per?: number
  readonly burst?: number
}

/** A rate of its own, without a gate. Windows have no burst, and are asked for none. */
export function rateBy(algorithm: Algorithm, { rate, per = 1000, burst }: Wanted, now = 0): Reservable {
  if (algorithm === 'pacer') return new Pacer({ rate, per }, burst ?? 1, now)
  const isWindow = (WINDOWS as readonly string[]).includes(algorithm)
  const options: RateOptions = { rate, per, algorithm, ...(burst === undefined || isWindow ? {} : { burst }) }
  return rateOf(parse<RateSettings>(rateOptions, options, 'rateLimit'), now)
}

/** What a rate says of itself: the most that it grants in any window of `t` milliseconds, both ends included. */
export function worst(algorithm: Algorithm, { rate, per = 1000, burst }: Wanted, t: number): number {
  const stretched = rate > 0 && rate < 1
  const limit = stretched ? 1 : rate
  const windowMs = stretched ? per / rate : per
  switch (algorithm) {
    case 'slidingLog':
      return limit * (Math.floor(t / windowMs + 1e-9) + 1)
    case 'fixedWindow':
      return limit * (Math.floor(t / windowMs + 1e-9) + 2)
    case 'slidingWindow':
      return limit + (limit * t) / windowMs
    default:
      return (burst ?? (algorithm === 'pacer' ? 1 : Math.max(1, rate))) + (rate * t) / per
  }
}

/** By how much any window of the grants is above what the rate says of itself, looking at all of them. */
export function excess(grants: readonly Grant[], of: (t: number) => number): number {
  let most = Number.NEGATIVE_INFINITY
  for (let from = 0; from < grants.length; from++) {
    let sum = 0
    for (let to = from; to < grants.length; to++) {
      sum += grants[to]!.cost
      most = Math.max(most, sum - of(grants[to]!.at - grants[from]!.at))
    }
  }
  return most
}
