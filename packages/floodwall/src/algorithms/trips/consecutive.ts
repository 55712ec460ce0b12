import type { Verdict } from '../../core/outcome.ts'
import type { Memory } from './memory.ts'
import type { Trip } from './trip.ts'

// Did the last calls all fail?
//
// Source: the consecutive breaker of gobreaker and cockatiel, and Envoy's consecutive-5xx detector. It needs no window and no minimum, so
// it also sees the outage of a dependency that is called once a minute; it never opens on a target that fails every other call.
//
// Limit 5: failure ×4, success, failure ×5: the tenth result opens.
//
// Invariant: opens at the n-th failure without a success between.

export class Consecutive implements Trip {
  private readonly most: number
  private run = 0

  constructor(failures: number) {
    this.most = failures
  }

  record(verdict: Verdict): boolean {
    if (verdict === 'success') {
      this.run = 0
      return false
    }
    this.run++
    return this.run >= this.most
  }

  reset(): void {
    this.run = 0
  }

  value(): number {
    return this.run
  }

  limit(): number {
    return this.most
  }

  nearness(): number {
    return this.run / this.most
  }

  explain(): string {
    return `${this.run} calls failed in a row (limit ${this.most})`
  }

  idle(): boolean {
    return this.run === 0
  }

  remember(): Memory {
    return { run: this.run }
  }

  recall({ run = 0 }: Memory): void {
    this.run = run
  }
}
