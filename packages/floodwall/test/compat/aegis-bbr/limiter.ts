import { Window } from './window.ts'

// The BBR limiter of go-kratos/aegis, number for number, to compare ours with. For tests and figures only: it has the faults that ours must not
// have. Written from the notes of the recording. Times are whole microseconds since it was made.

export interface AegisBbrOptions {
  /** Default 10 s. */
  readonly windowMs?: number
  /** Buckets of the window. Default 100. */
  readonly bucket?: number
  /** Per mille of the CPU. Default 800. */
  readonly cpuThreshold?: number
}

/** The guard stays for so long after the first drop. */
const COOL_DOWN_US = 1_000_000

/** A value that is computed once for each bucket's length, counted from when it was computed. */
interface Cached {
  readonly value: number
  readonly atUs: number
}

export class AegisBbr {
  /** Smoothed usage of the CPU, per mille; set from outside. */
  cpu = 0
  inFlight = 0
  /** When the first drop of an episode was; null: none. */
  firstDropUs: number | null = null
  private readonly threshold: number
  private readonly bucketUs: number
  /** Whole buckets in a second: 3 for 300 ms, 0 above a second. */
  private readonly perSecond: number
  private readonly passes: Window
  private readonly times: Window
  private maxPass: Cached | null = null
  private minRt: Cached | null = null

  constructor({ windowMs = 10_000, bucket = 100, cpuThreshold = 800 }: AegisBbrOptions = {}) {
    this.threshold = cpuThreshold
    this.bucketUs = (windowMs * 1000) / bucket
    this.perSecond = Math.floor(1_000_000 / this.bucketUs)
    this.passes = new Window(bucket, this.bucketUs)
    this.times = new Window(bucket, this.bucketUs)
  }

  /** True: it runs, and must be followed by {@link done}. */
  allow(nowUs: number): boolean {
    if (this.drops(nowUs)) return false
    this.inFlight++
    return true
  }

  private drops(nowUs: number): boolean {
    if (this.cpu < this.threshold) {
      if (this.firstDropUs === null) return false
      if (nowUs - this.firstDropUs <= COOL_DOWN_US) return this.isOver(nowUs)
      this.firstDropUs = null
      return false
    }
    const over = this.isOver(nowUs)
    if (over) this.firstDropUs ??= nowUs
    return over
  }

  private isOver(nowUs: number): boolean {
    return this.inFlight > 1 && this.inFlight > this.limit(nowUs)
  }

  done(tookUs: number, nowUs: number): void {
    const tookMs = Math.ceil(tookUs / 1000)
    if (tookMs > 0) this.times.add(tookMs, nowUs)
    this.inFlight--
    this.passes.add(1, nowUs)
  }

  /** Reads in this order, and so computes anew what is too old. */
  limit(nowUs: number): number {
    const minRt = this.minRtMs(nowUs)
    return limitOf(this.peak(nowUs), minRt, this.perSecond)
  }

  private peak(nowUs: number): number {
    if (this.maxPass === null || nowUs - this.maxPass.atUs >= this.bucketUs)
      this.maxPass = { value: this.computePeak(nowUs), atUs: nowUs }
    return this.maxPass.value
  }

  private computePeak(nowUs: number): number {
    const buckets = this.passes.past(nowUs)
    return buckets === null ? 0 : buckets.reduce((most, { sum }) => Math.max(most, sum), 1)
  }

  private minRtMs(nowUs: number): number {
    if (this.minRt === null || nowUs - this.minRt.atUs >= this.bucketUs)
      this.minRt = { value: this.computeMinRt(nowUs), atUs: nowUs }
    return this.minRt.value
  }

  private computeMinRt(nowUs: number): number {
    const means = (this.times.past(nowUs) ?? []).filter(({ count }) => count > 0).map(({ sum, count }) => sum / count)
    // With nothing to compare it would be the largest double, which as an integer of amd64 is the least one.
    return means.length === 0 ? 1 : Math.max(1, Math.ceil(Math.min(...means)))
  }

  /** What it decides by, as it was computed last; null: never. */
  get seen(): { readonly maxPass: number | null; readonly minRt: number | null; readonly limit: number | null } {
    const [maxPass, minRt] = [this.maxPass?.value ?? null, this.minRt?.value ?? null]
    const limit = maxPass === null || minRt === null ? null : limitOf(maxPass, minRt, this.perSecond)
    return { maxPass, minRt, limit }
  }
}

function limitOf(maxPass: number, minRtMs: number, perSecond: number): number {
  return Math.floor((maxPass * minRtMs * perSecond) / 1000)
}

/** Its average of the CPU, one sample each 500 ms: whole numbers, so that it stops short of what it should reach. */
export function aegisCpu(previous: number, usage: number): number {
  const decay = 0.95
  return Math.trunc(previous * decay + Math.min(usage, 1000) * (1 - decay))
}
