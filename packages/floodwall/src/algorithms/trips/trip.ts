import type { Verdict } from '../../core/outcome.ts'
import type { Memory } from './memory.ts'

/** When should a breaker open? A trip decides; the breaker owns the states. */
export interface Trip {
  /**
   * Counts one result (`success`, `failure` or `timeout`); `lane` names the method of the call, 0: unnamed. For a trip that watches calls from
   * their start, what it said then. True: open now.
   */
  record(verdict: Verdict, tookMs: number, now: number, lane?: number): boolean
  /** Forgets all results. */
  reset(now: number): void
  /** What it measures now: a failure share, a run of failures. */
  value(now: number): number
  /** The value at which it opens. */
  limit(now: number): number
  /** 0: nothing wrong; 1: it opens. */
  nearness(now: number): number
  /** One sentence with the numbers. */
  explain(now: number): string
  /** True when it remembers nothing. */
  idle(now: number): boolean
  /** What it has counted, for the next process; without it nothing is kept. */
  remember?(now: number): Memory
  /** Counts what was remembered `ageMs` ago, and decides nothing. For a trip that has counted nothing yet. */
  recall?(memory: Memory, ageMs: number, now: number): void
}
