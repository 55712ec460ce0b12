import { showMs } from '../../core/duration.ts'
import { percent } from '../trips/share.ts'
import type { BreakerSettings, BreakerState } from './breaker-settings.ts'
import { Probes } from './probes.ts'

// When is half-open over, if the probes do not say?
//
// Source: maxWaitDurationInHalfOpenState of resilience4j, whose users ask for it because with little traffic three probes take hours (#2028, #2289).
// There it counts from the beginning; here from the first probe on: while nobody calls, nobody waits for a decision, and a breaker that opened again
// and again without being asked would refuse the first call after a quiet night.
//
// Compared when asked, not scheduled: whoever asks late meets what a timer would have left. So the open time that would follow is fixed with the
// first probe, and the state at any time can be read off the clock.
//
// First probe at 10 s, halfOpenAtMost 60 s, end 'open', the next open time 8 s: half-open until 70 s, open until 78 s, then half-open anew.
//
// Invariant: one episode is one set of probes; a decision of the probes ends it before its time, and nothing makes it longer.

export class HalfOpen {
  readonly probes: Probes
  /** When it is over without a decision. */
  endsAt = Number.POSITIVE_INFINITY
  /** How long it stays open if it opens from here; undefined: nobody has to know yet. */
  openMs: number | undefined
  private readonly end: 'open' | 'closed'
  private readonly atMostMs: number
  private readonly slowAfterMs: number

  constructor(settings: BreakerSettings) {
    const { probes, probeFailureRate, probeLapse, slowRate, slowAfter, halfOpenAtMost, halfOpenEnd } = settings
    this.probes = new Probes(probes, probeFailureRate, probeLapse, slowRate, slowAfter)
    this.slowAfterMs = slowAfter ?? Number.POSITIVE_INFINITY
    this.atMostMs = halfOpenAtMost ?? Number.POSITIVE_INFINITY
    this.end = halfOpenEnd ?? 'open'
  }

  /** It may be open after this, and until when has to be known. */
  get mayReopen(): boolean {
    return this.end === 'open' && this.atMostMs < Number.POSITIVE_INFINITY
  }

  /** The first probe goes out. */
  start(now: number, openMs: number | undefined): void {
    this.endsAt = now + this.atMostMs
    this.openMs = openMs
  }

  /** The state at the end, or undefined before it. */
  over(now: number): 'open' | 'closed' | undefined {
    return now < this.endsAt ? undefined : this.end
  }

  /** As a call would meet it. */
  stateAt(now: number): BreakerState {
    if (this.over(now) !== 'open') return this.over(now) ?? 'halfOpen'
    return this.reopenInMs(now) > 0 ? 'open' : 'halfOpen'
  }

  /** When over and open: milliseconds until it is half-open anew. */
  reopenInMs(now: number): number {
    return this.over(now) === 'open' ? Math.max(0, this.endsAt + (this.openMs ?? 0) - now) : 0
  }

  /** Milliseconds until a call that finds no free probe should ask again. */
  retryInMs(now: number): number {
    return Math.min(this.probes.nextLapseMs(now), Math.max(0, this.endsAt - now))
  }

  get whyOver(): string {
    return `half-open for ${showMs(this.atMostMs)} without a decision`
  }

  /** What the probes that have opened it say. */
  whyOpen(now: number): string {
    const { size, failed, slow, failing, share, slowShare } = this.probes
    if (failing) return `${failed} of ${size} probes failed (${percent(failed / size)}, limit ${percent(share)})`
    const late = this.probes.late(now)
    const running = late === 0 ? '' : `, ${late} of them still running`
    const shares = `(${percent((slow + late) / size)}, limit ${percent(slowShare)})`
    return `${slow + late} of ${size} probes took longer than ${showMs(this.slowAfterMs)}${running} ${shares}`
  }

  get whyClosed(): string {
    return `${this.probes.good} of ${this.probes.size} probes succeeded`
  }
}
