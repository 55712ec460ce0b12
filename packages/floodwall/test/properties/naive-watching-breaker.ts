import type { BreakerState, Verdict } from 'floodwall'

// The second reference: a window in time, slow calls and those that hang, a count of failures, an end of half-open, and a late look at all of it.
// It keeps every result and every permit in lists, and reads its state off the definition.

export interface WatchingSettings {
  readonly buckets: number
  readonly widthMs: number
  readonly atLeast: number
  /** Shares are so many of {@link OF}; undefined: no such condition. */
  readonly parts: number | undefined
  readonly slowParts: number | undefined
  readonly errorCount: number | undefined
  readonly slowAfter: number
  readonly openFor: number
  readonly growth: number
  readonly openAtMost: number
  readonly healthyAfter: number
  readonly probes: number
  readonly probeParts: number
  readonly probeLapse: number
  readonly halfOpenAtMost: number | undefined
  readonly halfOpenEnd: 'open' | 'closed'
}

export const OF = 20

export interface WatchingPermit {
  readonly life: number
  readonly at: number
  ended: boolean
}

interface Result {
  readonly failed: boolean
  readonly slow: boolean
  readonly at: number
}

export class NaiveWatchingBreaker {
  at: BreakerState = 'closed'
  opened = 0
  private readonly settings: WatchingSettings
  private life = 0
  private since: number
  private until = 0
  private times = 0
  private firstProbeAt = Number.POSITIVE_INFINITY
  private results: Result[] = []
  private out: WatchingPermit[] = []

  constructor(settings: WatchingSettings, now: number) {
    this.settings = settings
    this.since = now
  }

  state(now: number): BreakerState {
    if (this.at === 'open') return now >= this.until ? 'halfOpen' : 'open'
    if (this.at !== 'halfOpen' || now < this.end) return this.at
    if (this.settings.halfOpenEnd === 'closed') return 'closed'
    return now >= this.end + this.openMs() ? 'halfOpen' : 'open'
  }

  acquire(now: number): WatchingPermit | string {
    this.expire(now)
    if (this.at === 'open' && now >= this.until) this.enter('halfOpen', now)
    if (this.at === 'closed' && this.late(now) > 0 && this.slows(now)) this.open(now)
    if (this.at === 'halfOpen') {
      const { probeLapse, probes } = this.settings
      this.out = this.out.filter(({ at }) => now - at < probeLapse)
      if (this.hangs(now)) this.open(now)
      else if (this.out.length + this.results.length >= probes) {
        const oldest = this.out[0]
        const lapse = oldest === undefined ? 0 : oldest.at + probeLapse - now
        return `probing ${Math.min(lapse, this.end - now)}`
      }
    }
    if (this.at === 'open') return `open ${this.until - now}`
    if (this.at === 'forcedOpen') return 'forced 0'
    if (this.at === 'halfOpen') this.firstProbeAt = Math.min(this.firstProbeAt, now)
    const permit = { life: this.life, at: now, ended: false }
    this.out.push(permit)
    return permit
  }

  settle(permit: WatchingPermit, verdict: Verdict, tookMs: number, now: number): void {
    if (permit.ended) return
    permit.ended = true
    if (permit.life !== this.life) return
    this.expire(now)
    if (permit.life !== this.life) return
    const { at } = this
    if (at === 'halfOpen' && !this.out.includes(permit)) return
    this.out = this.out.filter((other) => other !== permit)
    const result = this.weigh(verdict, tookMs, now)
    if (at !== 'closed' && at !== 'halfOpen') return
    if (result !== undefined) this.results.push(result)
    if (at === 'halfOpen') this.decide(result !== undefined, now)
    else if (result !== undefined && this.trips(result, now)) this.open(now)
  }

  cancel(permit: WatchingPermit): void {
    permit.ended = true
    this.out = this.out.filter((other) => other !== permit)
  }

  steer(to: BreakerState, now: number): void {
    if (to === 'open') return this.open(now)
    if (to === 'closed') this.times = 0
    else if (to === this.at) return
    this.enter(to, now)
  }

  /** free, running, good, bad. */
  probes(): readonly number[] {
    const { probes } = this.settings
    if (this.at !== 'halfOpen') return [probes, 0, 0, 0]
    const good = this.results.filter(({ failed, slow }) => !failed && !slow).length
    const bad = this.results.length - good
    return [probes - this.out.length - good - bad, this.out.length, good, bad]
  }

  /** Calls that hang: their eighth of the slow limit lies a whole limit back. */
  late(now: number): number {
    const { slowAfter, slowParts } = this.settings
    if (slowParts === undefined) return 0
    if (this.at === 'halfOpen') return this.out.filter(({ at }) => now - at > slowAfter).length
    if (this.at === 'disabled') return 0
    const eighth = (at: number) => Math.floor(at / (slowAfter / 8))
    return this.out.filter(({ at }) => eighth(now) - eighth(at) > 8).length
  }

  private get end(): number {
    return this.firstProbeAt + (this.settings.halfOpenAtMost ?? Number.POSITIVE_INFINITY)
  }

  /** As of its end. */
  private expire(now: number): void {
    if (this.at !== 'halfOpen' || now < this.end) return
    if (this.settings.halfOpenEnd === 'closed') this.enter('closed', this.end)
    else this.open(this.end)
  }

  private weigh(verdict: Verdict, tookMs: number, now: number): Result | undefined {
    const { slowAfter, slowParts } = this.settings
    const judged = slowParts !== undefined
    if (verdict === 'success' || verdict === 'failure')
      return { failed: verdict === 'failure', slow: judged && tookMs > slowAfter, at: now }
    if (verdict === 'overload' || tookMs < slowAfter) return undefined
    return { failed: true, slow: judged, at: now }
  }

  private window(now: number): Result[] {
    const { buckets, widthMs } = this.settings
    const oldest = (Math.floor(now / widthMs) - buckets + 1) * widthMs
    return this.results.filter(({ at }) => at >= oldest)
  }

  private trips(last: Result, now: number): boolean {
    const { atLeast, parts, errorCount } = this.settings
    const window = this.window(now)
    const failures = window.filter(({ failed }) => failed).length
    const enough = window.length >= atLeast
    const share = parts !== undefined && failures * OF >= parts * window.length
    const count = errorCount !== undefined && failures >= errorCount
    return (last.failed && enough && (share || count)) || ((last.slow || this.late(now) > 0) && this.slows(now))
  }

  private slows(now: number): boolean {
    const { atLeast, slowParts = Number.POSITIVE_INFINITY } = this.settings
    const window = this.window(now)
    const late = this.late(now)
    const calls = window.length + late
    return calls >= atLeast && (window.filter(({ slow }) => slow).length + late) * OF >= slowParts * calls
  }

  private hangs(now: number): boolean {
    const { probes, slowAfter, slowParts = Number.POSITIVE_INFINITY } = this.settings
    const late = this.out.filter(({ at }) => now - at > slowAfter).length
    return late > 0 && (this.results.filter(({ slow }) => slow).length + late) * OF >= slowParts * probes
  }

  private decide(counted: boolean, now: number): void {
    const { probes, probeParts, slowParts = Number.POSITIVE_INFINITY } = this.settings
    const bad = this.results.filter(({ failed }) => failed).length
    const slow = this.results.filter((result) => result.slow).length
    const unknown = probes - this.results.length
    if (counted && (bad * OF >= probeParts * probes || slow * OF >= slowParts * probes)) this.open(now)
    else if (counted && (bad + unknown) * OF < probeParts * probes && (slow + unknown) * OF < slowParts * probes)
      this.enter('closed', now)
    else if (this.hangs(now)) this.open(now)
  }

  /** Of the next opening. */
  private openMs(): number {
    const { openFor, growth, openAtMost } = this.settings
    let ms = openFor
    for (let i = 0; i < this.times; i++) ms = Math.min(ms * growth, Math.max(openFor, openAtMost))
    return ms
  }

  private open(now: number): void {
    if (this.at === 'closed' && now - this.since >= this.settings.healthyAfter) this.times = 0
    if (this.at === 'open') this.times--
    else this.opened++
    this.until = now + this.openMs()
    this.times++
    this.enter('open', now)
  }

  private enter(to: BreakerState, now: number): void {
    this.at = to
    this.life++
    this.since = now
    this.firstProbeAt = Number.POSITIVE_INFINITY
    this.results = []
    this.out = []
  }
}
