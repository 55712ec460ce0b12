// The error-cost trip once more, as slow and as plain as can be: it remembers every call, and weighs each of them anew for every answer.

export interface CostSettings {
  readonly lastCalls: number
  readonly over: number
  readonly maxErrorRate: number
  readonly minEvidence: number
}

export interface CostOptions {
  readonly short: CostSettings
  readonly long: CostSettings
  readonly epsilon: number
  readonly maxFailedLatencyMultiple: number
  readonly minErrorCost: number
  readonly accumulate: 'sum' | 'ema'
  readonly secondStage?: boolean
}

interface Past {
  readonly failed: boolean
  readonly cost: number
}

/** Calls that came to the window together; each is worth the mean of what its place among them could make it worth. */
interface Batch {
  readonly calls: Past[]
  /** On a clock that only ages. */
  readonly at: number
}

class NaiveWindow {
  private readonly settings: CostSettings
  private readonly all: CostOptions
  private past: Batch[] = []
  private aged = 0
  private at = 0

  constructor(settings: CostSettings, all: CostOptions) {
    this.settings = settings
    this.all = all
  }

  /** One call or many. */
  record(calls: Past[], now: number): void {
    if (now > this.at && now < Number.POSITIVE_INFINITY) {
      this.aged += now - this.at
      this.at = now
    } else if (this.at - now > this.settings.over && now > Number.NEGATIVE_INFINITY) this.at = now
    // What a success finds to be next to nothing costs nothing any more.
    if (calls.some(({ failed }) => !failed) && this.sums().cost < this.all.minErrorCost)
      this.past = this.past.map((batch) => ({ ...batch, calls: batch.calls.map((call) => ({ ...call, cost: 0 })) }))
    this.past.push({ calls, at: this.aged })
  }

  reset(): void {
    this.past = []
  }

  /** Everything before it is older by one call: in `ema` that is so after each. */
  private counts(call: Past): boolean {
    return this.all.accumulate === 'ema' || !call.failed
  }

  private sums(): { cost: number; failures: number; successes: number } {
    const { lastCalls, over } = this.settings
    const perWindow = Math.log(this.all.epsilon)
    const sums = { cost: 0, failures: 0, successes: 0 }
    let later = 0
    for (let i = this.past.length - 1; i >= 0; i--) {
      const { calls, at } = this.past[i]!
      const weight = Math.exp(perWindow * (later / lastCalls + (this.aged - at) / over))
      const steps = calls.reduce((count, call) => count + (this.counts(call) ? 1 : 0), 0)
      let worth = weight
      for (let step = 1; step < steps; step++) worth += weight * Math.exp((perWindow * step) / lastCalls)
      worth /= Math.max(1, steps)
      for (const { failed, cost } of calls) {
        if (!failed) sums.successes += worth
        else if (cost > 0) {
          sums.cost += cost * worth
          sums.failures += worth
        }
      }
      later += steps
    }
    return sums
  }

  nearness(now: number): number {
    const { maxErrorRate, minEvidence, over } = this.settings
    const { cost, failures, successes } = this.sums()
    if (cost === 0) return 0
    const limit = (maxErrorRate / (1 - maxErrorRate)) * (1 + this.all.epsilon) * successes
    // A share does not age while nobody calls; that it was so many does.
    const sinceMs = now > this.at && now < Number.POSITIVE_INFINITY ? now - this.at : 0
    const evidence = failures * Math.exp((Math.log(this.all.epsilon) * sinceMs) / over)
    return Math.min(cost / limit, minEvidence === 1 ? Infinity : evidence / (minEvidence - 1), Number.MAX_VALUE)
  }
}

const BATCH = 32
const BATCHES_IN_SPAN = 64

export class NaiveErrorCost {
  /** How near the windows were that were judged by the last call, the nearest of them: above 1 it opens. */
  judged = 0
  private readonly options: CostOptions
  private readonly short: NaiveWindow
  private readonly long: NaiveWindow
  private batch: Past[] = []
  private batchSince = 0
  private readonly successes = new Map<number, number[]>()

  constructor(options: CostOptions) {
    this.options = options
    this.short = new NaiveWindow(options.short, options)
    this.long = new NaiveWindow(options.long, options)
  }

  record(failed: boolean, tookMs: number, now: number, lane: number): void {
    const call = { failed, cost: this.costOf(failed, tookMs, lane) }
    this.short.record([call], now)
    this.judged = this.short.nearness(now)
    if (this.options.secondStage === true) {
      if (this.batch.length === 0) this.batchSince = now
      this.batch.push(call)
      const isShort = Math.abs(now - this.batchSince) < this.options.long.over / BATCHES_IN_SPAN
      if (this.batch.length < BATCH && isShort) return
      this.long.record(this.batch, now)
      this.batch = []
    } else this.long.record([call], now)
    this.judged = Math.max(this.judged, this.long.nearness(now))
  }

  nearness(now: number): number {
    return Math.max(this.short.nearness(now), this.long.nearness(now))
  }

  /** What is normal stays known. */
  reset(): void {
    this.short.reset()
    this.long.reset()
    this.batch = []
  }

  /** What a failure costs by the average success of its method. */
  private costOf(failed: boolean, tookMs: number, lane: number): number {
    const known = this.successes.get(lane) ?? []
    if (!failed) {
      this.successes.set(lane, [...known, tookMs])
      return 0
    }
    const normal = known.reduce((mean, took, i) => (i === 0 ? took : (mean * 127 + took) / 128), 0)
    return normal === 0 ? 1 : Math.min(this.options.maxFailedLatencyMultiple, Math.max(1, tookMs / normal))
  }
}
