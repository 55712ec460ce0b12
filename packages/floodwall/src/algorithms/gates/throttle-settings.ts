import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { amountOrZero, count, factor, positiveSpan, shareOrZero } from '../../core/schema.ts'

/** The options of a throttle. All are optional; the defaults are safe. */
export const throttleOptions = v.strictObject({
  /** At most so many calls are sent for each one that is accepted. Default 2: refuses when less than half is accepted. */
  k: v.optional(factor, 2),
  /** `k` is less by this for each class of criticality below `critical`, never below 1, and more by it for `criticalPlus`. Default 0.25. */
  kStep: v.optional(amountOrZero, 0.25),
  /** The window of the counts. Default 3 s. */
  over: v.optional(positiveSpan, '3s'),
  /** The window's buckets: it moves by a bucket at a time. Default 10. */
  buckets: v.optional(v.pipe(count, v.maxValue(65_536, 'a whole number from 1 to 65536')), 10),
  /** No verdict on fewer results. Default 10. */
  atLeast: v.optional(count, 10),
  /** A call passes each so often, whatever was heard; and after so long without one accepted, nothing else does. Default 1 s. */
  probeEvery: v.optional(positiveSpan, '1s'),
  /** ... or this share of the calls, where that is more. Default 0.005. */
  probeShare: v.optional(shareOrZero, 0.005),
  /** An attempt that was given less time than this says nothing when it times out; one that was cancelled after it was not accepted. */
  slowAfter: v.optional(positiveSpan),
})

/** What users write. */
export type ThrottleOptions = v.InferInput<typeof throttleOptions>
/** The same with defaults filled in, spans in milliseconds. */
export type ThrottleSettings = v.InferOutput<typeof throttleOptions>

/** The four states of a class. */
const throttleStates = ['passing', 'throttling', 'probing', 'ramping'] as const
export type ThrottleState = (typeof throttleStates)[number]

export const throttleSnapshot = v.strictObject({
  ...snapshotOf('throttle'),
  /** Since it was made: calls that were refused here, and calls that passed only to find out. */
  refused: v.number(),
  probes: v.number(),
  /** One for each class of criticality that has called, highest first. */
  classes: v.array(
    v.strictObject({
      criticality: v.picklist(['criticalPlus', 'critical', 'sheddablePlus', 'sheddable']),
      state: v.picklist(throttleStates),
      /** Milliseconds in this state. */
      sinceMs: v.number(),
      k: v.number(),
      /** In the window: calls that the formula sees, those of them that were accepted, and the share that it would drop. */
      requests: v.number(),
      accepts: v.number(),
      drop: v.number(),
      /** In the window: what failed or timed out there, was refused there, was refused here. */
      failed: v.number(),
      overloaded: v.number(),
      refused: v.number(),
      /** Milliseconds until a probe may pass; 0 unless probing. */
      probeInMs: v.number(),
    }),
  ),
})

/** What is shown of one class. */
export type ClassSnapshot = v.InferOutput<typeof throttleSnapshot>['classes'][number]
