import type { BreakerState, Verdict } from 'floodwall'

// The reference that the breaker is held against: it keeps every result and every permit in lists, and reads its state off the definition.
// Window in calls, no jitter, no slow limit: those have tests of their own.

export interface NaiveSettings {
  readonly lastCalls: number
  readonly atLeast: number
  /** Opens at `parts` of `of`. */
  readonly parts: number
  readonly consecutive: number
  readonly openFor: number
  readonly growth: number
  readonly openAtMost: number
  readonly healthyAfter: number
  readonly probes: number
  readonly probeParts: number
  readonly probeLapse: number
}

/** Shares are so many of this. */
export const OF = 20

export interface NaivePermit {
  readonly life: number
  readonly at: number
  ended: boolean
}

export class NaiveBreaker {
  at: BreakerState = 'closed'
  opened = 0
  private readonly settings: NaiveSettings
  private life = 0
  private since: number
  private until = 0
  private times = 0
  private results: boolean[] = []
  private out: NaivePermit[] = []

  constructor(settings: NaiveSettings, now: number) {
    this.settings = settings
    this.since = now
  }

  state(now: number): BreakerState {
    return this.at === 'open' && now >= this.until ? 'halfOpen' : this.at
  }

  /** A permit, or the reason with the wait. */
  acquire(now: number): NaivePermit | string {
    if (this.state(now) === 'halfOpen') {
      if (this.at === 'open') this.enter('halfOpen', now)
      this.out = this.out.filter(({ at, ended }) => !ended && now - at < this.settings.probeLapse)
      const oldest = this.out[0]
      if (this.out.length + this.results.length >= this.settings.probes)
        return `probing ${oldest === undefined ? 0 : oldest.at + this.settings.probeLapse - now}`
    }
    if (this.at === 'open') return `open ${this.until - now}`
    if (this.at === 'forcedOpen') return 'forced 0'
    const permit = { life: this.life, at: now, ended: false }
    this.out.push(permit)
    return permit
  }

  settle(permit: NaivePermit, verdict: Verdict, now: number): void {
    if (permit.ended) return
    permit.ended = true
    if (permit.life !== this.life) return
    if (this.at === 'halfOpen' && !this.out.includes(permit)) return
    this.out = this.out.filter((other) => other !== permit)
    if (verdict === 'overload' || verdict === 'ignored') return
    if (this.at !== 'closed' && this.at !== 'halfOpen') return
    this.results.push(verdict === 'success')
    if (this.at === 'closed') {
      if (this.trips()) this.open(now)
    } else this.decide(now)
  }

  cancel(permit: NaivePermit): void {
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
    if (this.at !== 'halfOpen') return [this.settings.probes, 0, 0, 0]
    // A lapsed probe is out until somebody asks for its slot.
    const running = this.out.filter(({ ended }) => !ended).length
    const good = this.results.filter((ok) => ok).length
    const bad = this.results.length - good
    return [this.settings.probes - running - good - bad, running, good, bad]
  }

  private trips(): boolean {
    const { lastCalls, atLeast, parts, consecutive } = this.settings
    const window = this.results.slice(-lastCalls)
    const failures = window.filter((ok) => !ok).length
    const row = this.results.length - 1 - this.results.lastIndexOf(true)
    // Who answers is not cut off.
    const rate =
      window.at(-1) === false && window.length >= Math.min(atLeast, lastCalls) && failures * OF >= parts * window.length
    return rate || row >= consecutive
  }

  private decide(now: number): void {
    const { probes, probeParts } = this.settings
    const bad = this.results.filter((ok) => !ok).length
    const unknown = probes - this.results.length
    if (bad * OF >= probeParts * probes) this.open(now)
    else if ((bad + unknown) * OF < probeParts * probes) this.enter('closed', now)
  }

  private open(now: number): void {
    const { openFor, growth, openAtMost, healthyAfter } = this.settings
    if (this.at === 'closed' && now - this.since >= healthyAfter) this.times = 0
    if (this.at !== 'open') {
      this.times++
      this.opened++
    }
    let ms = openFor
    for (let i = 1; i < this.times; i++) ms = Math.min(ms * growth, Math.max(openFor, openAtMost))
    this.until = now + ms
    this.enter('open', now)
  }

  private enter(to: BreakerState, now: number): void {
    this.at = to
    this.life++
    this.since = now
    this.results = []
    this.out = []
  }
}
