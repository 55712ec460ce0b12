import { Histogram, type HistogramSnapshot } from '../algorithms/stats/histogram.ts'
import { Level } from './level.ts'
import { Series } from './series.ts'

/** How the requests ended that came to a server. Each that arrived is in one of these, or inside. */
export interface Ends {
  /** Answered, and somebody was there to hear it. */
  readonly good: number
  /** An error was the answer. */
  readonly failed: number
  /** Worked through for a caller who had left, or for whom the guard had answered already. */
  readonly wasted: number
  /** Refused by the guard, or by a full queue. */
  readonly refused: number
  /** Not begun, since the caller had left. */
  readonly dropped: number
  /** The server went down while it was inside. */
  readonly reset: number
  /** The server was down. */
  readonly unreachable: number
  /** Hung, until the fault was over. */
  readonly hung: number
  /** Never arrived. */
  readonly vanished: number
}

/** What a server had to carry. */
export interface ServerReport extends Ends {
  readonly kind: 'server'
  readonly arrived: number
  /** At the end. */
  readonly inside: number
  readonly workers: number
  /** Share of the workers' time; of an event loop, its utilisation. */
  readonly utilisation: number
  /** Means over time. */
  readonly meanInside: number
  readonly meanWaiting: number
  readonly mostWaiting: number
  /** From arrival to the start of the work, in milliseconds. */
  readonly queueDelay: HistogramSnapshot
  /** By bucket: counts, and means of levels. */
  readonly series: {
    readonly arrived: number[]
    readonly good: number[]
    readonly wasted: number[]
    readonly busy: number[]
    readonly waiting: number[]
  }
}

const ZERO: Ends = {
  ...{ good: 0, failed: 0, wasted: 0, refused: 0, dropped: 0 },
  ...{ reset: 0, unreachable: 0, hung: 0, vanished: 0 },
}

/** Counts what a server has to carry. */
export class Load {
  arrived = 0
  ends: { -readonly [End in keyof Ends]: number } = { ...ZERO }
  readonly inside: Level
  readonly busy: Level
  readonly waiting: Level
  readonly queueDelay = new Histogram()
  /** That of the request that began last. */
  lastDelayMs = 0
  private readonly arrivals: Series
  private readonly good: Series
  private readonly wasted: Series

  constructor(widthMs: number) {
    this.inside = new Level(widthMs)
    this.busy = new Level(widthMs)
    this.waiting = new Level(widthMs)
    this.arrivals = new Series(widthMs)
    this.good = new Series(widthMs)
    this.wasted = new Series(widthMs)
  }

  arrive(now: number): void {
    this.arrived++
    this.arrivals.add(now, 1)
  }

  start(delayMs: number): void {
    this.lastDelayMs = delayMs
    this.queueDelay.record(delayMs)
  }

  end(how: keyof Ends, now: number): void {
    this.ends[how]++
    if (how === 'good') this.good.add(now, 1)
    else if (how === 'wasted') this.wasted.add(now, 1)
  }

  /** Counts, means and delays begin anew; the series go on, and who is inside has arrived. */
  forget(now: number): void {
    this.arrived = this.inside.value
    this.ends = { ...ZERO }
    this.queueDelay.clear()
    for (const level of [this.inside, this.busy, this.waiting]) level.forget(now)
  }

  report(now: number, workers: number): ServerReport {
    return {
      kind: 'server',
      arrived: this.arrived,
      ...this.ends,
      inside: this.inside.value,
      workers,
      utilisation: this.busy.mean(now) / workers,
      meanInside: this.inside.mean(now),
      meanWaiting: this.waiting.mean(now),
      mostWaiting: this.waiting.most,
      queueDelay: this.queueDelay.snapshot(),
      series: {
        arrived: this.arrivals.upTo(now),
        good: this.good.upTo(now),
        wasted: this.wasted.upTo(now),
        busy: this.busy.upTo(now),
        waiting: this.waiting.upTo(now),
      },
    }
  }
}
