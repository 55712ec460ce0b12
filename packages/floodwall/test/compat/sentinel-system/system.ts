// The system rule of alibaba/sentinel-golang, number for number, to compare ours with. For tests and figures only. Written from what the recording
// shows. Times are milliseconds since 1970.

/** The names of its metrics, by the numbers that stand in JSON. */
const METRICS = ['load', 'avgRT', 'concurrency', 'inboundQPS', 'cpuUsage'] as const

export interface SentinelSystemRule {
  readonly metricType: number
  readonly triggerCount: number
  /** -1: none. 1: BBR. 0 is neither, and acts as none. */
  readonly strategy: number
}

const BBR = 1
/** The window is a second in two buckets. */
const BUCKETS = 2
const BUCKET_MS = 500

interface Bucket {
  slot: number
  passes: number
  completions: number
  rtMs: number
  leastRtMs: number
}

/** What Sentinel takes for the least response time while nothing was completed. */
const NO_RT_MS = 60_000

export class SentinelSystem {
  /** What its probe of the system says; -1: nothing. */
  load = -1
  cpu = -1
  /** Inbound entries that have not ended. */
  inFlight = 0
  private readonly rule: SentinelSystemRule
  private buckets: Bucket[] = []

  constructor(rule: SentinelSystemRule) {
    this.rule = rule
  }

  /** An inbound entry; others are neither checked nor counted. True: it passes, and must be followed by {@link exit}. */
  enter(nowMs: number): boolean {
    if (!this.passes(nowMs)) return false
    this.current(nowMs).passes++
    this.inFlight++
    return true
  }

  exit(tookMs: number, nowMs: number): void {
    const bucket = this.current(nowMs)
    bucket.completions++
    bucket.rtMs += tookMs
    bucket.leastRtMs = Math.min(bucket.leastRtMs, tookMs)
    this.inFlight--
  }

  private passes(nowMs: number): boolean {
    const { triggerCount, metricType } = this.rule
    const metric = METRICS[metricType]
    if (metric === 'inboundQPS') return this.passRate(nowMs) < triggerCount
    if (metric === 'concurrency') return this.inFlight < triggerCount
    if (metric === 'avgRT') return this.averageRtMs(nowMs) < triggerCount
    const usage = metric === 'load' ? this.load : this.cpu
    return usage <= triggerCount || (this.rule.strategy === BBR && this.isWithin(nowMs))
  }

  /** Of a second, which is the window. */
  private passRate(nowMs: number): number {
    return this.window(nowMs).reduce((sum, { passes }) => sum + passes, 0)
  }

  private averageRtMs(nowMs: number): number {
    const [count, sum] = this.window(nowMs).reduce(
      ([count, sum], { completions, rtMs }) => [count + completions, sum + rtMs],
      [0, 0],
    )
    return count === 0 ? 0 : Math.floor(sum / count)
  }

  private isWithin(nowMs: number): boolean {
    const window = this.window(nowMs)
    const most = window.reduce((most, { completions }) => Math.max(most, completions), 0)
    const least = window.reduce((least, { leastRtMs }) => Math.min(least, leastRtMs), NO_RT_MS)
    return this.inFlight <= 1 || this.inFlight <= (most * BUCKETS * least) / 1000
  }

  private current(nowMs: number): Bucket {
    const slot = Math.floor(nowMs / BUCKET_MS)
    this.buckets = this.window(nowMs)
    const last = this.buckets.at(-1)
    if (last?.slot === slot) return last
    const fresh = { slot, passes: 0, completions: 0, rtMs: 0, leastRtMs: NO_RT_MS }
    this.buckets.push(fresh)
    return fresh
  }

  private window(nowMs: number): Bucket[] {
    const oldest = Math.floor(nowMs / BUCKET_MS) - BUCKETS
    return this.buckets.filter(({ slot }) => slot > oldest)
  }
}
