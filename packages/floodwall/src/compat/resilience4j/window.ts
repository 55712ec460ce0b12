import { CountRing } from '../../algorithms/stats/count-ring.ts'
import { TimeRing } from '../../algorithms/stats/time-ring.ts'

// How did the calls of the window go, as resilience4j counts them?
//
// Replicas of its four sliding windows. Both of the last N calls agree. Those of the last N seconds cut the time into N buckets of a second:
// the synchronized one at the whole seconds of the wall clock, the lock-free one at seconds since it was made, and afresh at the first use
// after a gap.
//
// 2 s: a call at 0.65 s counts until 2 s in the one, until 2.65 s in the other.
//
// Invariant: given the same calls at the same milliseconds, all totals are resilience4j's as long as the clock runs forward. When it steps
// back, theirs throws out a second of calls at every reading; here time stands until the clock has caught up.

export const CALLS = 0
export const FAILED = 1
export const SLOW = 2
export const SLOW_FAILED = 3
/** The sum of the durations, each cut to whole milliseconds. */
export const TOTAL_MS = 4
const LANES = 5

/** The length of a bucket. There it cannot be chosen. */
const BUCKET_MS = 1000

export interface Resilience4jWindow {
  record(failed: boolean, slow: boolean, durationMs: number, now: number): void
  /** The sum of a lane: {@link CALLS} and so on. Reading moves the window too. */
  total(lane: number, now: number): number
}

/** FixedSizeSlidingWindowMetrics: the last `size` calls. */
export class CountWindow implements Resilience4jWindow {
  private readonly ring: CountRing
  private readonly durations: number[] = []
  private next = 0
  private totalMs = 0

  constructor(size: number) {
    this.ring = new CountRing(size, LANES - 2)
  }

  record(failed: boolean, slow: boolean, durationMs: number): void {
    const bits = (failed ? 1 : 0) | (slow ? 2 : 0) | (failed && slow ? 4 : 0)
    this.ring.push(bits)
    const ms = wholeMs(durationMs)
    this.totalMs += ms - (this.durations[this.next] ?? 0)
    this.durations[this.next] = ms
    this.next = this.next + 1 === this.ring.size ? 0 : this.next + 1
  }

  total(lane: number): number {
    if (lane === CALLS) return this.ring.calls
    return lane === TOTAL_MS ? this.totalMs : this.ring.total(lane - 1)
  }
}

/** SlidingTimeWindowMetrics: the last `size` seconds of a clock whose 0 is `epochMs` on the wall. */
export class TimeWindow implements Resilience4jWindow {
  protected ring: TimeRing
  protected originMs: number

  constructor(size: number, epochMs: number) {
    this.ring = new TimeRing(size, BUCKET_MS, LANES)
    this.originMs = -epochMs
  }

  record(failed: boolean, slow: boolean, durationMs: number, now: number): void {
    this.move(now)
    const { ring } = this
    const at = now - this.originMs
    ring.count(CALLS, at)
    if (failed) ring.count(FAILED, at)
    if (slow) ring.count(SLOW, at)
    if (failed && slow) ring.count(SLOW_FAILED, at)
    ring.add(TOTAL_MS, wholeMs(durationMs), at)
  }

  total(lane: number, now: number): number {
    this.move(now)
    return this.ring.total(lane, now - this.originMs)
  }

  protected move(_now: number): void {}
}

/** LockFreeSlidingTimeWindowMetrics: seconds are counted from the making, and from the first use after a gap as long as the window. */
export class LockFreeTimeWindow extends TimeWindow {
  /** Up to here, on the clock of the caller, the buckets go on. */
  private until: number

  constructor(size: number, now: number) {
    super(size, -now)
    this.until = now + BUCKET_MS
  }

  protected override move(now: number): void {
    if (now < this.until) return
    const { buckets } = this.ring
    if (now - this.until >= buckets * BUCKET_MS) {
      this.ring = new TimeRing(buckets, BUCKET_MS, LANES)
      this.originMs = now
    }
    this.until = this.originMs + (Math.floor((now - this.originMs) / BUCKET_MS) + 1) * BUCKET_MS
  }
}

/** The window of 0 calls that DISABLED and FORCED_OPEN own. */
export const NO_WINDOW: Resilience4jWindow = { record() {}, total: () => 0 }

function wholeMs(durationMs: number): number {
  return durationMs >= 0 && durationMs <= Number.MAX_SAFE_INTEGER ? Math.trunc(durationMs) : 0
}
