import type { AdaptiveLimit, Gate, Permit, Verdict } from 'floodwall'
import { ask } from '../support/asks.ts'

/** Calls that all take the same, so many at once as somebody wants and the limit lets. */
export class Traffic {
  readonly gate: AdaptiveLimit
  now = 1000
  private readonly inside: { readonly permit: Permit; readonly endsAt: number }[] = []

  constructor(gate: AdaptiveLimit) {
    this.gate = gate
  }

  /** Keeps `wanted` calls inside for `spanMs`, then lets them end; Infinity: one more than there may be. */
  keep(wanted: number, tookMs: number, verdict: Verdict, spanMs: number): void {
    const until = this.now + spanMs
    this.fill(wanted, tookMs)
    for (let first = this.inside.shift(); first !== undefined; first = this.inside.shift()) {
      this.now = first.endsAt
      first.permit.settle(verdict, tookMs, this.now)
      if (this.now < until) this.fill(wanted, tookMs)
    }
  }

  private fill(wanted: number, tookMs: number): void {
    while (this.inside.length < wanted) {
      const answer = (this.gate as Gate).tryAcquire(ask(this.now))
      if (!answer.ok) return
      this.inside.push({ permit: answer, endsAt: this.now + tookMs })
    }
  }

  /** What the estimator shows, where it shows it. */
  shown(field: string): number | undefined {
    return (this.gate.inspect(this.now)['estimator'] as Record<string, number | undefined>)[field]
  }

  /** What a call takes that need not wait. */
  get baselineMs(): number | undefined {
    return this.shown('baselineMs') ?? this.shown('baseMs')
  }
}
