import type { Call } from '../core/call.ts'
import { writeBaggage } from './baggage.ts'
import { COHORT_KEY, writeCohort } from './cohort.ts'
import { writeCriticality } from './criticalities.ts'
import { CRITICALITY_KEY } from './inbound.ts'
import { names } from './names.ts'
import { writeTimeoutMs } from './timeouts.ts'

// What does a call say about itself to the server that it goes to?
//
// What is left of its time, how much it matters, and how often it was tried. 700 ms left, a margin of 5 ms, 100 ms for an attempt: the server
// is told 100, since nobody will wait longer. With less than a millisecond to tell nothing is said, and nothing must be sent.

export interface OutboundOptions {
  /** Taken off the remaining time: what the way there and back costs. Milliseconds. */
  readonly marginMs: number
  /** The longest that this attempt is waited for, in milliseconds. Default: as long as the operation. */
  readonly attemptMs?: number | undefined
  /** How many calls of the last seconds were first tries, second tries ...: text of `writeAttempts`. Default: not told. */
  readonly attempts?: string | undefined
  /** Where the call stands in its class, 0 to below 128. Default: not told. */
  readonly cohort?: number | undefined
  /** The `baggage` header that goes out, '' for none: criticality and cohort join it. Default: they do not. */
  readonly baggage?: string | undefined
}

/**
 * Calls `set` for each header of `call`; nothing is set that has nothing to say. False: too little time is left, nothing was set, and the
 * request must not be sent.
 */
export function writeOutbound(
  call: Call,
  options: OutboundOptions,
  set: (name: string, value: string) => void,
): boolean {
  const { marginMs, attemptMs = Number.POSITIVE_INFINITY, attempts, cohort, baggage } = options
  const left = Math.min(call.remainingMs - marginMs, attemptMs)
  if (left !== Number.POSITIVE_INFINITY) {
    const timeout = writeTimeoutMs(left)
    if (timeout === undefined) return false
    set(names.timeout, timeout)
  }
  const criticality = writeCriticality(call.criticality)
  set(names.criticality, criticality)
  const place = cohort === undefined ? undefined : writeCohort(cohort)
  if (place !== undefined) set(names.cohort, place)
  if (call.extra.standsFor > 1) set(names.standsFor, String(call.extra.standsFor))
  if (call.attempt > 0) set(names.attempt, String(call.attempt))
  if (attempts !== undefined) set(names.attempts, attempts)
  if (baggage !== undefined) {
    const ranked = writeBaggage(baggage, CRITICALITY_KEY, criticality)
    const placed = ranked === undefined || place === undefined ? undefined : writeBaggage(ranked, COHORT_KEY, place)
    const whole = placed ?? ranked
    if (whole !== undefined) set(names.baggage, whole)
  }
  return true
}
