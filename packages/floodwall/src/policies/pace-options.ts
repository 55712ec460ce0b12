import * as v from 'valibot'
import { snapshotOf } from '../core/layer.ts'
import { rateOrBytes, spelled, unitsOrBytes } from '../core/rate-schema.ts'
import { count, positiveSpan } from '../core/schema.ts'

const entries = v.strictObject({
  /** Cost that goes per `per`, or bytes with their span: `'10MB/s'`. 0: nothing goes. */
  rate: rateOrBytes,
  /** The span that `rate` is per. Default 1 s. */
  per: v.optional(positiveSpan, '1s'),
  /** What may go at once after a pause. Default 1, one by one; 0 at rate 0. */
  burst: v.optional(unitsOrBytes),
  /** The longest wait. Who would wait longer is refused when he comes. Default 1 s. */
  atMost: v.optional(positiveSpan, '1s'),
  /** Places. Default 10,000. */
  size: v.optional(count, 10_000),
})

export const paceOptions = v.pipe(entries, spelled())

export type PaceOptions = v.InferInput<typeof paceOptions>
export type PaceSettings = v.InferOutput<typeof paceOptions>

export const paceSnapshot = v.strictObject({
  ...snapshotOf('pace'),
  waiting: v.number(),
  size: v.number(),
  /** What who comes now would wait, in milliseconds. */
  waitMs: v.number(),
  perSecond: v.number(),
  /** Without a wait. */
  passed: v.number(),
  /** After one. */
  paced: v.number(),
  refused: v.number(),
  /** Refused because the deadline would have been over first. */
  tooLate: v.number(),
})

/** What may go at once, when nobody said. */
export function paceBurst({ rate, burst }: PaceSettings): number {
  return burst ?? (rate === 0 ? 0 : 1)
}
