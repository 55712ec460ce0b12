// How many trial calls are out, and what do they say?
//
// A half-open breaker lends a fixed number of probes. A probe is a lease: when nobody reports for `lapseMs` its slot goes back, so that a
// probe whose caller died cannot keep the breaker half-open for ever (opossum #388, resilience4j #935).
//
// 3 probes, share 0.5: two failures are certain to reach 0.5 · 3, so the second decides; two successes leave at most one failure, so the
// second decides too. The third is not waited for. Divided, not multiplied: 0.07 · 100 is 7.000000000000001, and 7 of 100 would not do.
//
// With a share of slow ones the two are judged apart, as when closed: failures against one share, slow answers against the other, and a probe that
// has been out for longer than the slow limit is slow already.
//
// Invariant, after every step: free + running + good + bad = size.

export type Decision = 'open' | 'close' | undefined

export class Probes {
  readonly size: number
  good = 0
  bad = 0
  failed = 0
  slow = 0
  /** Of failed ones, and of slow ones, that open. */
  readonly share: number
  readonly slowShare: number
  private readonly lapseMs: number
  private readonly slowAfterMs: number
  /** The running ones: serial and start, oldest first. A handful, so that a plain array is fastest. */
  private readonly serials: number[] = []
  private readonly starts: number[] = []
  private lastSerial = 0

  /** Without the last two no probe is slow. */
  constructor(
    size: number,
    share: number,
    lapseMs: number,
    slowShare = Number.POSITIVE_INFINITY,
    slowAfterMs = Number.POSITIVE_INFINITY,
  ) {
    this.size = size
    this.share = share
    this.lapseMs = lapseMs
    this.slowShare = slowShare
    this.slowAfterMs = slowAfterMs
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
  record(succeeded: boolean, isSlow = false): Decision {
    if (!succeeded) this.failed++
    if (isSlow) this.slow++
    if (succeeded && !isSlow) this.good++
    else this.bad++
    const { size, failed, slow } = this
    if (this.failing || slow / size >= this.slowShare) return 'open'
    const left = size - this.good - this.bad
    return (failed + left) / size < this.share && (slow + left) / size < this.slowShare ? 'close' : undefined
  }

  /** So many failed that it opens. */
  get failing(): boolean {
    return this.failed / this.size >= this.share
  }

  /** Running probes that are slow already. */
  late(now: number): number {
    let late = 0
    while (late < this.starts.length && now - (this.starts[late] as number) > this.slowAfterMs) late++
    return late
  }

  /** The slow ones and those that hang are enough to open, whatever comes of the others. */
  hangs(now: number): boolean {
    const late = this.late(now)
    return late > 0 && (this.slow + late) / this.size >= this.slowShare
  }
}
