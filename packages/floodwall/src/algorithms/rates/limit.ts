import { type Pace, unitOf } from './rate.ts'

/** What a window allows: `limit` in each `windowMs`. */
export interface Limit {
  readonly limit: number
  readonly windowMs: number
}

/**
 * A pace as a limit of a window. A window cannot hold a fifth of a call: 0.2 a second is one in five seconds, since a limit below one would
 * refuse everybody for ever.
 */
export function limitOf(pace: Pace): Limit {
  const { rate, per } = pace
  if (rate >= 1) return { limit: rate, windowMs: per }
  const windowMs = unitOf(pace)
  return Number.isFinite(windowMs) ? { limit: 1, windowMs } : { limit: 0, windowMs: per }
}
