import * as v from 'valibot'
import { amountOrZero, countOrZero, oneOf } from '../../core/schema.ts'
import { memorySchema } from '../trips/memory.ts'
import { breakerStates } from './breaker-settings.ts'

// What must the next process know of a breaker?
//
// A function that is started for every call, or a service that is restarted in an outage, would else begin with a closed breaker each time. Spans
// and no times: its clock is another one, and how long it was away is for the caller to say.
//
// Open for 5 s, saved after 2 s: { state: 'open', openMs: 3000, ... }. Restored with ageMs 1000 it is open for 2 s more.
//
// Invariant: JSON carries all of it; a document that is not one changes nothing.

export const breakerSave = v.strictObject({
  version: v.literal(1, '1: a save of this version'),
  state: oneOf(...breakerStates),
  /** Milliseconds in this state. */
  sinceMs: amountOrZero,
  /** What is left of the open time; 0 unless open. */
  openMs: amountOrZero,
  /** Times opened without long health between. */
  streak: countOrZero,
  why: v.string('a text'),
  /** What it measured when it opened, and the limit. */
  value: amountOrZero,
  limit: amountOrZero,
  /** What is left of the ramp. */
  rampMs: amountOrZero,
  /** What was counted: results do not outlive a state. */
  memory: v.optional(memorySchema),
})

/** JSON-safe: the state of a breaker, for the next process. */
export type BreakerSave = v.InferOutput<typeof breakerSave>

const LONGEST_MS = 1e12

/** Spans of centuries are cut: they are restored as long ones. */
export function savedMs(ms: number): number {
  return Math.min(Math.max(0, ms), LONGEST_MS)
}
