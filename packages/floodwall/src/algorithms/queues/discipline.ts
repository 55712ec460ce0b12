import { Backlog } from './backlog.ts'
import { Codel } from './codel.ts'
import { ServiceTime } from './service-time.ts'

// How long may who comes wait, who goes next, and for whom is it too late?
//
// Source: Maurer, "Fail at Scale" (ACM Queue, 2015). Patience is given at arrival and ends by time, so that nobody has to come to his turn to
// be sent away: long in a burst, the target while the line stands. And the newest first while it stands: somebody must be refused then, and it
// is better to refuse who has waited longest than to serve all of them late.
//
// Two things differ by default. A fixed target of 5 ms, below one service time, refuses 2 to 4 % of what could be done (Poisson arrivals at
// a load of 0.8 and 0.9): both spans are multiples of what is measured. And a line that has not been empty for an interval is no overload:
// at a load of 0.9 it is that for seconds now and then. It stands when more comes than goes (see Backlog), for an interval.
//
// Median 20 ms, a slot free each 5 ms: interval 100 ms, target 40 ms, patience in a burst 250 ms.
//
// Invariant: nobody is given more than `atMost`; with nothing known of the work everybody is given that.

/** Spans in milliseconds. */
export interface DisciplineSettings {
  readonly order: 'fifo' | 'lifo' | 'adaptive'
  /** The longest wait. */
  readonly atMost: number
  readonly codel?:
    | {
        readonly target?: number | undefined
        readonly interval?: number | undefined
        readonly trigger: 'excess' | 'age'
        readonly at: 'arrival' | 'turn'
      }
    | undefined
}

/** Facebook's. */
const LEAST_INTERVAL_MS = 100
const INTERVAL_SERVICES = 5
/** With one service time of wait, a slot is idle now and then although there is work; with four, the slowest answers take twice as long. */
const TARGET_SERVICES = 2
/** The same where there is one slot: two places are not enough to keep it busy. */
const TARGET_PLACES = 3
/** In a burst: at a load of 0.9 one in thousands has more before him (M/M/1: 0.9 to the power of 50 is 0.5 %). */
const BURST_SERVICES = 10
const BURST_PLACES = 50

export class Discipline {
  settings: DisciplineSettings
  readonly backlog = new Backlog()
  readonly service = new ServiceTime()
  private readonly codel: Codel

  constructor(settings: DisciplineSettings, now: number) {
    this.settings = settings
    this.codel = new Codel({ targetMs: 0, intervalMs: 0 }, now)
  }

  /** Among those of one class. */
  newestFirst(now: number): boolean {
    const { order } = this.settings
    return order === 'adaptive' ? this.stands(now) : order === 'lifo'
  }

  /** What who comes now may wait. */
  patienceMs(now: number): number {
    const { codel, atMost } = this.settings
    if (codel === undefined || codel.at === 'turn') return atMost
    const target = this.targetMs(now)
    if (target === Number.POSITIVE_INFINITY) return atMost
    return Math.min(atMost, this.stands(now) ? target : this.burstMs(now))
  }

  /** What one needs until he has his answer, who has so many before him; 0 while nothing is known of the work. */
  needsMs(before: number, now: number): number {
    const serviceMs = this.service.at(now)
    return serviceMs === 0 ? 0 : serviceMs + before * this.backlog.paceMs
  }

  /** A slot is free for one who has waited so long: true when he has waited too long for it. */
  sheds(waitedMs: number, now: number): boolean {
    if (this.settings.codel?.at !== 'turn') return false
    this.codel.targetMs = this.targetMs(now)
    this.codel.intervalMs = this.intervalMs(now)
    return this.codel.judge(waitedMs, now)
  }

  /** What it holds just now. */
  inspect(now: number): { patienceMs: number; serviceMs: number; newestFirst: boolean } {
    const newestFirst = this.newestFirst(now)
    return { patienceMs: this.patienceMs(now), serviceMs: this.service.at(now), newestFirst }
  }

  /** It is no burst any more. */
  private stands(now: number): boolean {
    const { backlog } = this
    const ageMs = this.settings.codel?.trigger === 'age' ? backlog.ageMs(now) : backlog.excessMs(now)
    return ageMs > this.intervalMs(now)
  }

  private intervalMs(now: number): number {
    return this.settings.codel?.interval ?? Math.max(LEAST_INTERVAL_MS, INTERVAL_SERVICES * this.service.at(now))
  }

  private burstMs(now: number): number {
    const { interval } = this.settings.codel ?? {}
    if (interval !== undefined) return interval
    const { service, backlog } = this
    return Math.max(LEAST_INTERVAL_MS, BURST_SERVICES * service.at(now), BURST_PLACES * backlog.paceMs)
  }

  /** Infinity while nothing is known of the work. */
  private targetMs(now: number): number {
    const { target } = this.settings.codel ?? {}
    if (target !== undefined) return target
    const serviceMs = this.service.at(now)
    if (serviceMs === 0) return Number.POSITIVE_INFINITY
    return Math.max(TARGET_SERVICES * serviceMs, TARGET_PLACES * this.backlog.paceMs)
  }
}
