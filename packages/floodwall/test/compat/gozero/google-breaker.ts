// The breaker of zeromicro/go-zero, number for number, to compare ours with. For tests and figures only: it is a trace to beat. Written from the
// notes of the recording. Times are milliseconds since it was made.
//
// Nothing imports into this file: the benchmark loads it as it stands.

const WINDOW_MS = 10_000
const BUCKETS = 40
const BUCKET_MS = WINDOW_MS / BUCKETS
const K = 1.5
const LEAST_K = 1.1
const PROTECTION = 5
const FORCE_PASS_MS = 1000

interface Bucket {
  successes: number
  failures: number
  drops: number
}

/** What it looks at: the window, and the newest runs of buckets without success and without failure. */
export interface GoZeroHistory {
  readonly total: number
  readonly accepts: number
  readonly failingBuckets: number
  readonly workingBuckets: number
}

/** `ratio` is null where nothing was to be dropped; `forced`: the time since the last pass was up, and no dice rolled. */
export interface GoZeroDecision extends GoZeroHistory {
  readonly allowed: boolean
  readonly ratio: number | null
  readonly forced: boolean
}

export class GoZeroBreaker {
  /** When a call passed last although something was to be dropped; null: never. */
  lastPassMs: number | null = null
  private readonly random: () => number
  private readonly buckets: Bucket[] = Array.from({ length: BUCKETS }, fresh)
  /** Number of the current bucket. */
  private slot = 0

  constructor(random: () => number) {
    this.random = random
  }

  /** Counts what it refuses, as a drop. */
  allow(nowMs: number): GoZeroDecision {
    const history = this.history(nowMs)
    const { total, accepts, failingBuckets, workingBuckets } = history
    const weight = Math.max(LEAST_K, K - ((K - LEAST_K) * failingBuckets) / BUCKETS)
    const raw = (total - PROTECTION - weight * accepts) / (total + 1)
    if (raw <= 0) return { ...history, allowed: true, ratio: null, forced: false }
    const ratio = raw * ((BUCKETS - workingBuckets) / BUCKETS)
    const forced = this.lastPassMs !== null && nowMs - this.lastPassMs > FORCE_PASS_MS
    const allowed = forced || !(this.random() < ratio)
    if (allowed) this.lastPassMs = nowMs
    else this.markDrop(nowMs)
    return { ...history, allowed, ratio, forced }
  }

  markSuccess(nowMs: number): void {
    this.current(nowMs).successes++
  }

  markFailure(nowMs: number): void {
    this.current(nowMs).failures++
  }

  markDrop(nowMs: number): void {
    this.current(nowMs).drops++
  }

  history(nowMs: number): GoZeroHistory {
    this.turn(nowMs)
    let [total, accepts, failingBuckets, workingBuckets] = [0, 0, 0, 0]
    for (let age = BUCKETS - 1; age >= 0; age--) {
      const { successes, failures, drops } = this.bucket(this.slot - age)
      total += successes + failures + drops
      accepts += successes
      // Empty buckets, and such with drops alone, leave both runs as they are.
      if (successes > 0) failingBuckets = 0
      else if (failures > 0) failingBuckets++
      if (failures > 0) workingBuckets = 0
      else if (successes > 0) workingBuckets++
    }
    return { total, accepts, failingBuckets, workingBuckets }
  }

  private current(nowMs: number): Bucket {
    this.turn(nowMs)
    return this.bucket(this.slot)
  }

  private turn(nowMs: number): void {
    const slot = Math.floor(nowMs / BUCKET_MS)
    for (let gap = Math.min(slot - this.slot, BUCKETS); gap > 0; gap--)
      Object.assign(this.bucket(slot - gap + 1), fresh())
    this.slot = Math.max(this.slot, slot)
  }

  private bucket(slot: number): Bucket {
    return this.buckets[((slot % BUCKETS) + BUCKETS) % BUCKETS] as Bucket
  }
}

function fresh(): Bucket {
  return { successes: 0, failures: 0, drops: 0 }
}
