import { showMs } from '../../core/duration.ts'
import { CountRing } from '../stats/count-ring.ts'
import { TimeRing } from '../stats/time-ring.ts'
import { bucketsOf, type Memory, recallBuckets, recallResults, resultsOf } from './memory.ts'

// How did the calls of late go: how many were there, how many failed, how many were slow?
//
// One window for all the conditions of a breaker, over a span or over a number of calls. A call can be both, failed and slow.
//
// 3 calls, of which one failed fast, one failed slowly and one was fine: calls 3, failures 2, slow 1.
//
// Invariant: failures <= calls and slow <= calls, over the window that ends now.

export interface Results {
  add(failed: boolean, slow: boolean, now: number): void
  calls(now: number): number
  failures(now: number): number
  slow(now: number): number
  clear(now: number): void
  /** The window in words: `in the last 10s`. */
  readonly words: string
  remember(now: number): Memory
  recall(memory: Memory, ageMs: number, now: number): void
}

const CALLS = 0
const FAILURES = 1
const SLOW = 2

/** Over a span, in buckets. */
export class ResultsOfSpan implements Results {
  private readonly ring: TimeRing

  constructor(overMs: number, buckets: number) {
    this.ring = new TimeRing(buckets, overMs / buckets, 3)
  }

  add(failed: boolean, slow: boolean, now: number): void {
    const { ring } = this
    ring.count(CALLS, now)
    if (failed) ring.count(FAILURES, now)
    if (slow) ring.count(SLOW, now)
  }

  calls(now: number): number {
    return this.ring.total(CALLS, now)
  }

  failures(now: number): number {
    return this.ring.total(FAILURES, now)
  }

  slow(now: number): number {
    return this.ring.total(SLOW, now)
  }

  clear(now: number): void {
    this.ring.clear(now)
  }

  get words(): string {
    return `in the last ${showMs(this.ring.spanMs)}`
  }

  remember(now: number): Memory {
    return { buckets: bucketsOf(this.ring, now) }
  }

  recall({ buckets = [] }: Memory, ageMs: number, now: number): void {
    recallBuckets(this.ring, buckets, ageMs, now)
  }
}

const FAILED_BIT = 1
const SLOW_BIT = 2

/** Of the last calls, however long ago they were. */
export class ResultsOfCalls implements Results {
  private readonly ring: CountRing

  constructor(lastCalls: number) {
    this.ring = new CountRing(lastCalls, 2)
  }

  add(failed: boolean, slow: boolean): void {
    this.ring.push((failed ? FAILED_BIT : 0) | (slow ? SLOW_BIT : 0))
  }

  calls(): number {
    return this.ring.calls
  }

  failures(): number {
    return this.ring.total(0)
  }

  slow(): number {
    return this.ring.total(1)
  }

  clear(): void {
    this.ring.clear()
  }

  get words(): string {
    return `of the last ${this.ring.size} calls`
  }

  remember(): Memory {
    return { results: resultsOf(this.ring) }
  }

  recall({ results = [] }: Memory): void {
    for (const result of results) recallResults(this.ring, result)
  }
}
