import { wholeNumber } from './argument.ts'

// How did the last N results go?
//
// Source: the count-based sliding window of resilience4j. A result is one byte: bit i says that lane i counts it, so a
// call that failed slowly is one entry in two lanes.
//
// Size 3, lane 0 = failed: results 1, 0, 1 give 2 failures of 3 calls. A fourth, 0, pushes the first out: 1 of 3.
//
// Invariant: total(lane) is the number of remembered results with bit `lane` set, and at most `calls`, which is at most
// `size`. Each push costs the same, whatever the size.

/** One byte per result: 16 MiB. */
const MOST_RESULTS = 16_777_216
/** The bits of that byte. */
const MOST_LANES = 8

export class CountRing {
  readonly size: number
  readonly lanes: number

  private readonly results: Uint8Array
  private readonly totals: number[]
  /** Where the next result goes; once the ring is full that is the oldest. */
  private next = 0
  private held = 0

  /**
   * @param size results remembered, 1 to 16,777,216
   * @param lanes counts kept, 1 to 8
   * @throws RangeError naming the argument
   */
  constructor(size: number, lanes: number) {
    this.size = wholeNumber('size', size, 1, MOST_RESULTS)
    this.lanes = wholeNumber('lanes', lanes, 1, MOST_LANES)
    this.results = new Uint8Array(size)
    this.totals = Array.from({ length: lanes }, () => 0)
  }

  /** Results remembered, at most `size`. */
  get calls(): number {
    return this.held
  }

  /** Adds one result; 0 is a result that only `calls` counts. Bits above the last lane mean nothing. */
  push(mask: number): void {
    const at = this.next
    // Until the ring is full this is a zero that was never pushed, and takes nothing away.
    const oldest = this.results[at]!
    this.results[at] = mask
    if (oldest !== mask) this.exchange(oldest, mask)
    this.next = at + 1 === this.size ? 0 : at + 1
    if (this.held < this.size) this.held++
  }

  /** Remembered results that counted in this lane. */
  total(lane: number): number {
    return this.totals[lane]!
  }

  /** The remembered results, oldest first, equal ones in a row as one. */
  history(): { readonly mask: number; readonly times: number }[] {
    const runs: { mask: number; times: number }[] = []
    const first = this.held < this.size ? 0 : this.next
    for (let i = 0; i < this.held; i++) {
      const mask = this.results[(first + i) % this.size]!
      const last = runs.at(-1)
      if (last?.mask === mask) last.times++
      else runs.push({ mask, times: 1 })
    }
    return runs
  }

  clear(): void {
    this.results.fill(0)
    this.totals.fill(0)
    this.next = 0
    this.held = 0
  }

  private exchange(oldest: number, newest: number): void {
    const totals = this.totals
    for (let lane = 0; lane < this.lanes; lane++) {
      totals[lane]! += ((newest >> lane) & 1) - ((oldest >> lane) & 1)
    }
  }
}
