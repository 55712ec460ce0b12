import type { ThrottleState, Verdict } from 'floodwall'

// The throttle once more, for one class of calls, as slow and as plain as can be: it keeps everything that ever happened in a list, and asks
// the list again each time. Written from the page of the layer, not from the code.

export interface NaiveSettings {
  readonly k: number
  readonly over: number
  readonly buckets: number
  readonly atLeast: number
  readonly probeEvery: number
  /** A probe for so many calls. */
  readonly probeOf: number
}

type What = 'accepted' | 'failed' | 'overloaded' | 'refused'

export interface NaivePermit {
  readonly generation: number
  readonly way: 'freely' | 'probe' | 'earned'
  /** How many had passed before, except while passing: those come before all. */
  readonly number: number
}

export class NaiveThrottle {
  state: ThrottleState = 'passing'
  private readonly of: NaiveSettings
  private log: { readonly what: What; readonly slot: number }[] = []
  /** The results so far, newest last; true: accepted. */
  private results: { readonly good: boolean; readonly at: number }[] = []
  private newest = 0
  private generation = 0
  private since: number
  private earned = 0
  private afresh = false
  private passed = 0
  private passedWhenRamped = 0
  private passedWhenRefused = 0
  private passedAt: number
  private turnAt = Number.NEGATIVE_INFINITY
  private refusedSinceProbe = 0

  constructor(of: NaiveSettings, now: number) {
    this.of = of
    this.since = now
    this.passedAt = now
  }

  private slot(now: number): number {
    if (now > this.newest) this.newest = now
    return Math.floor(this.newest / (this.of.over / this.of.buckets))
  }

  private write(what: What, now: number): void {
    this.log.push({ what, slot: this.slot(now) })
  }

  count(what: What, now: number): number {
    const oldest = this.slot(now) - this.of.buckets + 1
    return this.log.filter((entry) => entry.what === what && entry.slot >= oldest).length
  }

  private sent(now: number): number {
    return this.count('accepted', now) + this.count('failed', now) + this.count('overloaded', now)
  }

  requests(now: number): number {
    const bad = this.count('failed', now) + this.count('overloaded', now)
    const counted = bad === 0 ? 0 : (this.count('refused', now) * this.count('overloaded', now)) / bad
    return this.sent(now) + counted
  }

  drop(now: number): number {
    const requests = this.requests(now)
    return Math.max(0, (requests - this.of.k * this.count('accepted', now)) / (requests + 1))
  }

  /** As shown: what nobody has asked for a window is forgotten. */
  shown(now: number): ThrottleState {
    return this.forgotten(now) ? 'passing' : this.state
  }

  private forgotten(now: number): boolean {
    return this.sent(now) + this.count('refused', now) === 0 && Math.abs(now - this.since) >= this.of.over
  }

  private go(to: ThrottleState, now: number): void {
    this.state = to
    this.since = now
  }

  /** `draw` is what the dice showed, if they were asked. */
  acquire(now: number, draw: number): NaivePermit | 'refused' {
    if (this.state !== 'passing' && this.forgotten(now)) this.go('passing', now)
    if (this.drop(now) === 0) {
      if (this.state === 'throttling' && this.count('refused', now) === 0) this.go('passing', now)
      if (this.state === 'ramping' && !this.afresh) this.go('passing', now)
    }
    if (this.state === 'passing') return { generation: this.generation, way: 'freely', number: 0 }
    if (this.state === 'throttling' && draw >= this.drop(now)) return this.pass('freely', now)
    if (this.state === 'ramping' && this.earned > 0) {
      this.earned--
      return this.pass('earned', now)
    }
    const share = this.state !== 'throttling' && this.refusedSinceProbe + 1 >= this.of.probeOf
    const waited = Math.abs(now - this.passedAt)
    const time =
      waited >= this.of.probeEvery &&
      (waited >= 8 * this.of.probeEvery || Math.abs(now - this.turnAt) >= this.of.probeEvery)
    if (share || time) {
      if (!share) this.turnAt = now
      this.refusedSinceProbe = 0
      return this.pass('probe', now)
    }
    this.write('refused', now)
    this.refusedSinceProbe++
    this.passedWhenRefused = this.passed
    return 'refused'
  }

  private pass(way: NaivePermit['way'], now: number): NaivePermit {
    this.passed++
    this.passedAt = now
    return { generation: this.generation, way, number: this.passed }
  }

  settle({ generation, way, number }: NaivePermit, verdict: Verdict, now: number): void {
    if (generation !== this.generation) return
    if (verdict === 'ignored') {
      if (way === 'earned') this.earned++
    } else if (verdict === 'success') this.good(number, now)
    else this.bad(verdict, now)
  }

  cancel({ generation, way }: NaivePermit): void {
    if (generation !== this.generation) return
    if (way === 'earned') this.earned++
    if (way !== 'probe') return
    this.passedAt = Number.NEGATIVE_INFINITY
    this.turnAt = Number.NEGATIVE_INFINITY
  }

  private good(number: number, now: number): void {
    this.results.push({ good: true, at: now })
    if (this.state === 'probing') this.ramp(0, now)
    this.write('accepted', now)
    if (this.state === 'ramping') {
      this.earned += 2
      if (number > this.passedWhenRefused) this.go('passing', now)
    } else if (this.state === 'throttling' && this.row(true).length >= this.of.atLeast) this.ramp(2, now)
  }

  private ramp(earned: number, now: number): void {
    this.afresh = this.state === 'probing'
    if (this.afresh) this.log = []
    this.earned = earned
    this.passedWhenRamped = this.passed
    this.passedWhenRefused = this.passed
    this.go('ramping', now)
  }

  private bad(verdict: Verdict, now: number): void {
    this.results.push({ good: false, at: now })
    this.write(verdict === 'overload' ? 'overloaded' : 'failed', now)
    if (this.state === 'probing') return
    const row = this.row(false)
    const [first] = row
    const silence =
      first !== undefined && row.length >= this.of.atLeast && Math.abs(now - first.at) >= this.of.probeEvery
    const rampedFor = this.state === 'ramping' ? this.passed - this.passedWhenRamped : 0
    const enough = Math.max(rampedFor, this.sent(now)) >= this.of.atLeast
    if (silence || (enough && this.count('accepted', now) === 0)) {
      this.generation++
      this.passedAt = now
      this.go('probing', now)
    } else if (enough && this.drop(now) > 0 && this.state !== 'throttling') this.go('throttling', now)
  }

  /** The newest results that are all alike; bad ones without a pause of a window. */
  private row(good: boolean): { readonly good: boolean; readonly at: number }[] {
    const row: { readonly good: boolean; readonly at: number }[] = []
    for (const result of this.results.toReversed()) {
      const next = row[0]
      if (result.good !== good) break
      if (!good && next !== undefined && Math.abs(next.at - result.at) >= this.of.over) break
      row.unshift(result)
    }
    return row
  }
}
