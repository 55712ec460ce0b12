import { RecentHistogram } from '../algorithms/stats/recent-histogram.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Env } from '../core/runtime.ts'
import type { Sink } from '../core/step.ts'

// How long does it take, when it works? The half of it that is faster than the other.
//
// What fails at once or is given up says nothing of how long an answer takes. It follows: with nobody let in there is nothing to measure, and
// after the span the next ones are let in again.

/** How far it looks back: long enough for twenty answers of a quiet service, short enough to forget a bad minute. */
const SPAN_MS = 30_000
/** Fewer answers decide nothing; as many as Hystrix wants calls. */
const LEAST = 20
/** It is read for each call and moves slowly. */
const READ_EVERY_MS = 100

export class Median {
  private readonly recent = new RecentHistogram(SPAN_MS)
  private value = 0
  private readAgainAt = 0

  /** Milliseconds; 0 while too little is known. */
  at(now: number): number {
    if (now < this.readAgainAt) return this.value
    this.readAgainAt = now + READ_EVERY_MS
    this.value = this.recent.count(now) < LEAST ? 0 : (this.recent.percentile(0.5, now) ?? 0)
    return this.value
  }

  /** What takes the outcome that `sink` would have taken, and measures it. */
  measure(env: Env, sink: Sink): Sink {
    return new Measured(this.recent, env, sink)
  }
}

class Measured implements Sink {
  private readonly recent: RecentHistogram
  private readonly env: Env
  private readonly sink: Sink
  private readonly since: number

  constructor(recent: RecentHistogram, env: Env, sink: Sink) {
    this.recent = recent
    this.env = env
    this.sink = sink
    this.since = env.precise()
  }

  settle(outcome: Outcome<unknown>): void {
    if (outcome.verdict === 'success') this.record()
    this.sink.settle(outcome)
  }

  succeed(value: unknown): void {
    this.record()
    this.sink.succeed(value)
  }

  private record(): void {
    const now = this.env.precise()
    this.recent.record(now - this.since, now)
  }
}
