import * as v from 'valibot'
import { amountOrZero, count, countOrZero } from '../../core/schema.ts'
import type { CountRing } from '../stats/count-ring.ts'
import type { TimeRing } from '../stats/time-ring.ts'

// What has a trip counted, in a form that outlives the process?
//
// Spans and no times: the next process has another clock. A bucket is as old as its beginning, whatever lies in it, so that results which are
// saved and restored again and again (a function that is thawed for each call) age neither faster nor slower than time passes.
//
// 20 calls, 3 of them failed, between 8.2 and 8.9 s of a clock that reads 9.7 s, in buckets of 1 s: { ageMs: 1700, calls: 20, failures: 3, slow: 0 }.
//
// Invariant: recalled by a trip of the same settings, the counts are at every time what they would have been.

const bucketSchema = v.strictObject({
  ageMs: amountOrZero,
  calls: countOrZero,
  failures: countOrZero,
  slow: countOrZero,
})

/** Equal results in a row. */
const resultsSchema = v.strictObject({
  failed: v.boolean('true or false'),
  slow: v.boolean('true or false'),
  times: count,
})

export const memorySchema = v.strictObject({
  /** A window in time: its buckets, oldest first. */
  buckets: v.optional(v.array(bucketSchema, 'a list of buckets')),
  /** A window in calls: its results, oldest first. */
  results: v.optional(v.array(resultsSchema, 'a list of results')),
  /** Failures since the last success. */
  run: v.optional(countOrZero),
})

export type Memory = v.InferOutput<typeof memorySchema>
type Bucket = v.InferOutput<typeof bucketSchema>
type Run = v.InferOutput<typeof resultsSchema>

/** Of the results of a large window, the newest in so many runs: a save is kept small. */
const MOST_RUNS = 1000

/** What is in the buckets of a ring with the lanes calls, failures and, perhaps, slow. */
export function bucketsOf(ring: TimeRing, now: number): Bucket[] {
  return ring.history(now).map(({ ageMs, sums: [calls = 0, failures = 0, slow = 0] }) => ({
    ageMs,
    calls,
    failures,
    slow,
  }))
}

export function recallBuckets(ring: TimeRing, buckets: readonly Bucket[], ageMs: number, now: number): void {
  const history = buckets.map(({ ageMs: age, calls, failures, slow }) => ({
    ageMs: age + ageMs,
    sums: [calls, failures, slow],
  }))
  ring.recall(history, now)
}

/** What is in a ring whose first bit is "failed" and whose second is "slow". */
export function resultsOf(ring: CountRing): Run[] {
  return ring
    .history()
    .slice(-MOST_RUNS)
    .map(({ mask, times }) => ({ failed: (mask & 1) === 1, slow: (mask & 2) === 2, times }))
}

export function recallResults(ring: CountRing, { failed, slow, times }: Run): void {
  const mask = (failed ? 1 : 0) | (slow ? 2 : 0)
  for (let left = Math.min(times, ring.size); left > 0; left--) ring.push(mask)
}
