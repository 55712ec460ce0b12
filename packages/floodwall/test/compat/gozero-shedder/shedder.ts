// The adaptive shedder of zeromicro/go-zero, number for number, to compare ours with. For tests and figures only: it is a trace to beat. Written
// from the notes of the recording. Times are whole microseconds since it was made.

export interface GoZeroShedderOptions {
  /** Default 5 s. */
  readonly windowMs?: number
  /** Default 50. */
  readonly buckets?: number
  /** Per mille of the CPU. Default 900. */
  readonly cpuThreshold?: number
}

const COOL_OFF_US = 1_000_000
const MOST_CPU = 1000
const DEFAULT_RT_MS = 1000
const LEAST_FACTOR = 0.1

interface Bucket {
  passes: number
  rtMs: number
}

export class GoZeroShedder {
  /** Usage of the CPU, per mille; set from outside. */
  cpu = 0
  flying = 0
  /** An average over the requests that ended. */
  avgFlying = 0
  /** The last check that found the CPU too busy; null: none. */
  overloadUs: number | null = null
  /** Something was dropped, and it has not cooled off since. */
  dropped = false
  private readonly threshold: number
  private readonly widthUs: number
  private readonly windowScale: number
  private readonly ring: Bucket[]
  private at = 0
  private startUs = 0

  constructor({ windowMs = 5000, buckets = 50, cpuThreshold = 900 }: GoZeroShedderOptions = {}) {
    this.threshold = cpuThreshold
    this.widthUs = (windowMs * 1000) / buckets
    this.windowScale = Math.floor(1_000_000 / this.widthUs) / 1000
    this.ring = Array.from({ length: buckets }, () => ({ passes: 0, rtMs: 0 }))
  }

  /** True: it runs, and must be followed by {@link pass} or {@link fail}. */
  allow(nowUs: number): boolean {
    if (this.isHot(nowUs) && this.isHigh(nowUs)) {
      this.dropped = true
      return false
    }
    this.flying++
    return true
  }

  private isHot(nowUs: number): boolean {
    if (this.cpu >= this.threshold) {
      this.overloadUs = nowUs
      return true
    }
    if (!this.dropped || this.overloadUs === null) return false
    if (nowUs - this.overloadUs < COOL_OFF_US) return true
    this.dropped = false
    return false
  }

  private isHigh(nowUs: number): boolean {
    const limit = this.maxFlight(nowUs) * this.factor
    return this.avgFlying > limit && this.flying > limit
  }

  pass(tookUs: number, nowUs: number): void {
    this.land()
    const bucket = this.current(nowUs)
    bucket.passes++
    bucket.rtMs += Math.ceil(tookUs / 1000)
  }

  /** Leaves no trace in the window. */
  fail(): void {
    this.land()
  }

  private land(): void {
    this.flying--
    // 0.1 and not 1 - 0.9, which is another double.
    this.avgFlying = this.avgFlying * 0.9 + this.flying * 0.1
  }

  maxFlight(nowUs: number): number {
    return Math.max(1, this.maxPass(nowUs) * this.minRtMs(nowUs) * this.windowScale)
  }

  get factor(): number {
    const left = (MOST_CPU - this.cpu) / (MOST_CPU - this.threshold)
    return Math.min(1, Math.max(LEAST_FACTOR, left))
  }

  maxPass(nowUs: number): number {
    return this.past(nowUs).reduce((most, { passes }) => Math.max(most, passes), 1)
  }

  minRtMs(nowUs: number): number {
    return this.past(nowUs).reduce(
      (least, { passes, rtMs }) => (passes === 0 ? least : Math.min(least, Math.round(rtMs / passes))),
      DEFAULT_RT_MS,
    )
  }

  private current(nowUs: number): Bucket {
    const { ring } = this
    const passed = this.passed(nowUs)
    for (let i = Math.min(passed, ring.length); i > 0; i--) {
      this.at = (this.at + 1) % ring.length
      ring[this.at] = { passes: 0, rtMs: 0 }
    }
    this.startUs += passed * this.widthUs
    return ring[this.at] as Bucket
  }

  /** What has not expired. The newest bucket is left out while time is in it. */
  private past(nowUs: number): Bucket[] {
    const { ring } = this
    const passed = this.passed(nowUs)
    const end = passed === 0 ? ring.length - 1 : ring.length
    const found: Bucket[] = []
    for (let age = passed; age < end; age++) found.push(ring[(this.at + 1 + age) % ring.length] as Bucket)
    return found
  }

  private passed(nowUs: number): number {
    return Math.floor((nowUs - this.startUs) / this.widthUs)
  }
}
