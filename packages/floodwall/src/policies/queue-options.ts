import * as v from 'valibot'
import { snapshotOf } from '../core/layer.ts'
import { count, oneOf, positiveSpan } from '../core/schema.ts'

const codelOptions = v.strictObject({
  /** How long who comes may wait while a line stands. Default: twice the median time of the work. */
  target: v.optional(positiveSpan),
  /**
   * Shorter than this it is only a burst, and who comes then may wait as long. Default: five times the median time of the work, at least
   * 100 ms; and the wait in a burst is ten times the median or 50 places, whichever is longer.
   */
  interval: v.optional(positiveSpan),
  /** What a standing line is. `excess`: more comes than goes. `age`: it has not been empty. Default `excess`. */
  trigger: v.optional(oneOf('excess', 'age'), 'excess'),
  /** `arrival`: who comes gets his time, and leaves when it is over. `turn`: judged when a slot is free for him. Default `arrival`. */
  at: v.optional(oneOf('arrival', 'turn'), 'arrival'),
})

export const queueOptions = v.strictObject({
  /** Places. Default 100. */
  size: v.optional(count, 100),
  /** The longest wait. Default 1 s. */
  atMost: v.optional(positiveSpan, '1s'),
  /**
   * Within a class of criticality. `fifo`: the longest waiting first. `lifo`: the newest first, whose caller is most likely still there.
   * `adaptive`: `fifo`, and `lifo` while a line stands. Default `fifo`.
   */
  order: v.optional(oneOf('fifo', 'lifo', 'adaptive'), 'fifo'),
  /** Controlled delay: waits are short while a line stands, and long only in a burst. Default: off. */
  codel: v.optional(codelOptions),
})

export type QueueOptions = v.InferInput<typeof queueOptions>
export type QueueSettings = v.InferOutput<typeof queueOptions>

export const queueSnapshot = v.strictObject({
  ...snapshotOf('queue'),
  waiting: v.number(),
  size: v.number(),
  /** What who comes now may wait at most, in milliseconds. */
  patienceMs: v.number(),
  /** The median time of the work, in milliseconds; 0 while too little is known. */
  serviceMs: v.number(),
  /** The newest goes first now. */
  newestFirst: v.boolean(),
  admitted: v.number(),
  timedOut: v.number(),
  tooLate: v.number(),
  displaced: v.number(),
})
