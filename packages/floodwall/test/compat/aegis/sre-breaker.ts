// The client-side throttle of go-kratos/aegis, number for number, to compare ours with. For tests and figures only: it has the fault that
// ours must not have. Written from the notes of the recording. Times are whole nanoseconds since it was made, as the original counts.
//
// Nothing imports into this file: the benchmark loads it as it stands.

export interface AegisOptions {
  /** K is 1 / success. Default 0.6. */
  readonly success?: number
  /** No ratio on fewer requests in the window. Default 100. */
  readonly request?: number
  /** Default 10. */
  readonly buckets?: number
  /** Default 3 s in 10 buckets. */
  readonly bucketNs?: number
}

/** What it decided, and by which numbers; `ratio` is null where it computed none. */
export interface AegisDecision {
  readonly allowed: boolean
  readonly total: number
  readonly accepts: number
  readonly ratio: number | null
  readonly state: 'open' | 'closed'
}

const REQUESTS = 0
const ACCEPTS = 1

export class AegisSreBreaker {
  private readonly k: number
  private readonly request: number
  private readonly bucketNs: number
  private readonly random: () => number
  /** [requests, accepts] of each bucket. */
  private readonly buckets: [number, number][]
  private at = 0
  /** The edge at which the current bucket began. It moves by whole buckets, and only when something is written. */
  private startNs = 0

  constructor(
    { success = 0.6, request = 100, buckets = 10, bucketNs = 300_000_000 }: AegisOptions,
    random: () => number,
  ) {
    this.k = 1 / success
    this.request = request
    this.bucketNs = bucketNs
    this.random = random
    this.buckets = Array.from({ length: buckets }, () => [0, 0])
  }

  allow(nowNs: number): AegisDecision {
    const [total, accepts] = this.summary(nowNs)
    const wanted = this.k * accepts
    if (total < this.request || total < wanted) return { allowed: true, total, accepts, ratio: null, state: 'closed' }
    // With K infinite and no success this is NaN, and nothing is below NaN: it never refuses.
    const ratio = Math.max(0, (total - wanted) / (total + 1))
    return { allowed: !(this.random() < ratio), total, accepts, ratio, state: 'open' }
  }

  markSuccess(nowNs: number): void {
    this.add(1, nowNs)
  }

  /** The client middleware of kratos calls it for what it refused itself, too. */
  markFailed(nowNs: number): void {
    this.add(0, nowNs)
  }

  private add(accepted: number, nowNs: number): void {
    const { buckets } = this
    const passed = this.passed(nowNs)
    if (passed > 0) {
      for (let i = Math.min(passed, buckets.length); i > 0; i--) {
        this.at = (this.at + 1) % buckets.length
        buckets[this.at] = [0, 0]
      }
      this.startNs += passed * this.bucketNs
    }
    const bucket = buckets[this.at] as [number, number]
    bucket[REQUESTS]++
    bucket[ACCEPTS] += accepted
  }

  /** Expired buckets are skipped, not emptied. */
  private summary(nowNs: number): [total: number, accepts: number] {
    const { buckets } = this
    let [total, accepts] = [0, 0]
    for (let age = this.passed(nowNs); age < buckets.length; age++) {
      const bucket = buckets[(this.at + 1 + age) % buckets.length] as [number, number]
      total += bucket[REQUESTS]
      accepts += bucket[ACCEPTS]
    }
    return [total, accepts]
  }

  /** Whole buckets since the current one began; a clock that went back has passed all of them. */
  private passed(nowNs: number): number {
    const passed = Math.floor((nowNs - this.startNs) / this.bucketNs)
    return passed >= 0 ? passed : this.buckets.length
  }
}
