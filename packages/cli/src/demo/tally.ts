// Counts and latencies of requests.

/** What became of a request. */
export type Sample = readonly [tookMs: number, ok: boolean]

export class Tally {
  private readonly took: number[] = []
  failures = 0

  add(tookMs: number, ok: boolean): void {
    this.took.push(tookMs)
    if (!ok) this.failures++
  }

  get requests(): number {
    return this.took.length
  }

  /** The share that was answered well, 0 to 1; NaN without requests. */
  get success(): number {
    return 1 - this.failures / this.took.length
  }

  /** 99 of 100 requests, failed ones included, took no longer than this. NaN without requests. */
  get p99(): number {
    return this.quantile(0.99)
  }

  get median(): number {
    return this.quantile(0.5)
  }

  /** By nearest rank. */
  private quantile(share: number): number {
    const sorted = this.took.toSorted((a, b) => a - b)
    return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  }
}

/** The last seconds, from reports of what was seen in a span. */
export class Recent {
  private readonly lengthMs: number
  private readonly reports: Piece[] = []

  constructor(lengthMs = 2_000) {
    this.lengthMs = lengthMs
  }

  add(piece: Piece): void {
    this.reports.push(piece)
    while (this.spanMs > this.lengthMs && this.reports.length > 1) this.reports.shift()
  }

  private get spanMs(): number {
    return this.reports.reduce((sum, { spanMs }) => sum + spanMs, 0)
  }

  /** What has ended. */
  get tally(): Tally {
    const tally = new Tally()
    for (const { samples } of this.reports) for (const [tookMs, ok] of samples) tally.add(tookMs, ok)
    return tally
  }

  get arrivalsPerSecond(): number {
    return this.perSecond(this.reports.reduce((sum, { arrivals }) => sum + arrivals, 0))
  }

  /** So many of something in the span, per second. */
  perSecond(count: number): number {
    return this.reports.length === 0 ? 0 : (count * 1000) / this.spanMs
  }
}

interface Piece {
  readonly spanMs: number
  readonly arrivals: number
  readonly samples: readonly Sample[]
}
