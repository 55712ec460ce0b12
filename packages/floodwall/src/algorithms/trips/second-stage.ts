import type { CostWindow } from './error-cost-window.ts'

// Must a long window look at every call?
//
// Source: Apache brpc's issue #387 proposes to feed the long window with what the short one has summed up. (The code that was released keeps
// two full windows instead.) So calls gather here, and go on as one number each for calls, failures and cost.
//
// 29 successes and 3 failures that cost 2 normal calls each: absorb(29, 3, 6). The window is judged 31 calls later at most, 1 % of it.
//
// Invariant: every call goes on exactly once, after 31 more at the latest, and with the first call after 1/64 of the window's span.

const BATCH = 32
const BATCHES_IN_SPAN = 64

export class SecondStage {
  private readonly window: CostWindow
  private calls = 0
  private failures = 0
  private cost = 0
  private since = 0

  constructor(window: CostWindow) {
    this.window = window
  }

  /** True: the window is over its limit. Known when a batch is full, so a success can say it too. */
  add(cost: number, now: number): boolean {
    if (this.calls === 0) this.since = now
    this.calls++
    if (cost > 0) {
      this.failures++
      this.cost += cost
    }
    // Not "less than": a reading that is no time must not keep a batch open.
    const isOpen = this.calls < BATCH && Math.abs(now - this.since) < this.window.overMs / BATCHES_IN_SPAN
    return isOpen ? false : this.close(now)
  }

  reset(): void {
    this.calls = 0
    this.failures = 0
    this.cost = 0
  }

  idle(now: number): boolean {
    return this.calls === 0 || Math.abs(now - this.since) > this.window.overMs
  }

  private close(now: number): boolean {
    const { calls, failures, cost } = this
    this.reset()
    return this.window.absorb(calls - failures, failures, cost, now)
  }
}
