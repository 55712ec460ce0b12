// How many trial calls are out, and what do they say?
//
// A half-open breaker lends a fixed number of probes. A probe is a lease: when nobody reports for `lapseMs` its slot goes back, so that a
// probe whose caller died cannot keep the breaker half-open for ever (opossum #388, resilience4j #935).
//
// 3 probes, share 0.5: two failures are certain to reach 0.5 · 3, so the second decides; two successes leave at most one failure, so the
// second decides too. The third is not waited for. Divided, not multiplied: 0.07 · 100 is 7.000000000000001, and 7 of 100 would not do.
//
// Invariant, after every step: free + running + good + bad = size.

export type Decision = 'open' | 'close' | undefined

export class Probes {
  readonly size: number
  good = 0
  bad = 0
  private readonly share: number
  private readonly lapseMs: number
  /** The running ones: serial and start, oldest first. A handful, so that a plain array is fastest. */
  private readonly serials: number[] = []
  private readonly starts: number[] = []
  private lastSerial = 0

  constructor(size: number, share: number, lapseMs: number) {
    this.size = size
    this.share = share
    this.lapseMs = lapseMs
  }

  get running(): number {
    return this.serials.length
  }

  get free(): number {
    return this.size - this.running - this.good - this.bad
  }

  /** Lends one: its serial, or 0 when none is free. */
  lend(now: number): number {
    if (this.free <= 0) return 0
    this.serials.push(++this.lastSerial)
    this.starts.push(now)
    return this.lastSerial
  }

  /** Takes back what has lapsed; the number of them. */
  lapse(now: number): number {
    let lapsed = 0
    while (this.starts.length > 0 && now - (this.starts[0] as number) >= this.lapseMs) {
      this.starts.shift()
      this.serials.shift()
      lapsed++
    }
    return lapsed
  }

  /** Milliseconds until the oldest running probe lapses; 0 when none runs. */
  nextLapseMs(now: number): number {
    const [oldest] = this.starts
    return oldest === undefined ? 0 : Math.max(0, oldest + this.lapseMs - now)
  }

  /** The slot goes back; false when the probe has lapsed or ended already, and its result must not count. */
  giveBack(serial: number): boolean {
    const at = this.serials.indexOf(serial)
    if (at < 0) return false
    this.serials.splice(at, 1)
    this.starts.splice(at, 1)
    return true
  }

  /** Counts a result; the decision as soon as it is certain. */
  record(isGood: boolean): Decision {
    if (isGood) this.good++
    else this.bad++
    if (this.bad / this.size >= this.share) return 'open'
    if ((this.size - this.good) / this.size < this.share) return 'close'
    return undefined
  }
}
