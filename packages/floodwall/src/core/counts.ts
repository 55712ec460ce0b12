import type { Verdict } from './outcome.ts'

/** Operations by how they ended. Fields and comparisons: an indexed counter costs 10 ns more. */
export class Counts {
  success = 0
  failure = 0
  timeout = 0
  overload = 0
  ignored = 0
  refused = 0

  add(verdict: Verdict): void {
    if (verdict === 'success') this.success++
    else if (verdict === 'failure') this.failure++
    else if (verdict === 'timeout') this.timeout++
    else if (verdict === 'overload') this.overload++
    else this.ignored++
  }
}
