import { fade } from '../stats/fade.ts'

// How much is wanted, whatever becomes of it?
//
// Who sheds looks well: his CPU is at its best and his answers are fast. What he refuses must be counted with what he does, or nobody would ever
// give him more servers. By Little's law the load that is offered keeps so many calls busy at once as come in a second times the seconds that
// each takes.
//
// 800 a second come, of which 200 can be done, each in 20 ms: wanted are 16 at once, where the limit is 4. Four times as much is needed.
//
// Invariant: the rate is that of the last half minute, more or less, and unbiased from the first seconds on.

/** An autoscaler looks each 15 s or so. */
const TAU_MS = 10_000

export class Demand {
  private sum = 0
  private at = Number.NaN
  private readonly since: number

  constructor(now: number) {
    this.since = now
  }

  /** A call has come, in the place of so many. */
  came(now: number, standsFor: number): void {
    this.sum = this.left(now) + standsFor
    if (!(now <= this.at)) this.at = now
  }

  /** Calls a second, lately. */
  perSecond(now: number): number {
    // What is not remembered since it was not there yet must not count as quiet.
    const seen = 1 - fade(Math.max(0, now - this.since) / TAU_MS)
    return seen <= 0 ? 0 : (this.left(now) / (TAU_MS * seen)) * 1000
  }

  private left(now: number): number {
    const age = now - this.at
    // Nobody has come yet, or the clock stands.
    return age > 0 ? this.sum * fade(age / TAU_MS) : this.sum
  }
}
