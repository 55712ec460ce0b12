import * as v from 'valibot'
import { snapshotOf } from '../../core/layer.ts'
import { amountOrZero, count, factor, positiveSpan, share, spanOrZero } from '../../core/schema.ts'
import type { Pressure } from '../admission/pressure.ts'

/** Usage of the CPU now: 0 idle, 1 all of it. What is no such number is no sample. */
export type CpuUsage = () => number

const signal = v.custom<CpuUsage | Pressure>(
  (input) =>
    typeof input === 'function' ||
    (typeof input === 'object' && input !== null && 'level' in input && typeof input.level === 'function'),
  'a function that tells the usage from 0 to 1, or a Pressure',
)

/** The options of a bbr gate. All are optional; without a signal it refuses nothing. */
export const bbrOptions = v.strictObject({
  /** What tells how busy the CPU is. Default: the server's own signal called `cpu`, where there is one. */
  cpu: v.optional(signal),
  /** Usage above this is too much. Default 0.8. */
  above: v.optional(share, 0.8),
  /** It stays on guard for so long after the last sample that was too much. Default 1 s. */
  coolDown: v.optional(spanOrZero, '1s'),
  /** How often the function `cpu` is asked. Default 250 ms. */
  sampleEvery: v.optional(positiveSpan, '250ms'),
  /** What a new sample weighs against all before. Default 0.5. */
  weight: v.optional(share, 0.5),
  /** How far back the best throughput and the least response time are looked for. Default 5 s. */
  over: v.optional(positiveSpan, '5s'),
  /** The window's buckets. Default 50. */
  buckets: v.optional(
    v.pipe(count, v.minValue(2, 'a whole number from 2 to 1000'), v.maxValue(1000, 'a whole number from 2 to 1000')),
    50,
  ),
  /** An average is one of so many completions: as many buckets are taken together as it takes. Default 10. */
  atLeast: v.optional(count, 10),
  /** The bound while fewer have completed. Default 10. */
  startAt: v.optional(count, 10),
  /** So many roots of the bound may be inside besides, to keep the workers busy. Default 1; 0: the bound itself. */
  headroom: v.optional(amountOrZero, 1),
  /** In each fourth part of the time on guard the bound is multiplied by this, so that a queue goes away. Default 0.75; 1: never. */
  drain: v.optional(share, 0.75),
  /** So many times the bound may be inside while less is asked for than it has shown it can do. Default 8; 1: no more. */
  slack: v.optional(factor, 8),
})

/** What users write. */
export type BbrOptions = v.InferInput<typeof bbrOptions>
/** The same with defaults filled in, spans in milliseconds. */
export type BbrSettings = v.InferOutput<typeof bbrOptions>

export const bbrSnapshot = v.strictObject({
  ...snapshotOf('bbr'),
  /** On guard: calls above the bound are refused. */
  hot: v.boolean(),
  /** Smoothed usage of the CPU, and how old it is in milliseconds; null without a sample. */
  cpu: v.nullable(v.number()),
  ageMs: v.nullable(v.number()),
  inFlight: v.number(),
  /** How many may be inside while it is on guard. */
  bound: v.number(),
  /** Completions a second at best, and milliseconds each took at best; null while there are too few. */
  peak: v.nullable(v.number()),
  leastMs: v.nullable(v.number()),
  /** Calls a second that were asked for lately. */
  demand: v.number(),
  /** Since it was made. */
  refused: v.number(),
})
