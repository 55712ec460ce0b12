import { milliseconds, wholeNumber } from './argument.ts'
import { isSample } from './sample.ts'
import { slotAt } from './slot.ts'

// What was the least (or the most) lately?
//
// Source: the windowed minimum round trip of BBR (Cardwell et al., 2016), kept as one extreme per bucket. The exact
// answer takes a wedge, the samples that may yet become the extreme; with latencies that rise for a while that is all
// of them, so a slowdown would cost the most memory just then. A ring costs 10 numbers at any rate of samples.
//
// Span 10 s in 10 buckets: 20 ms at 0.5 s, 30 ms at 4.2 s. Read at 9.9 s: 20. At 10.0 s: 30. At 14.0 s: nothing.
//
// Invariant: the answer is the extreme of every sample since an instant that lies more than span - span / buckets and
// at most span ago. Nothing older is remembered, and reading expires too. Time only moves forward, as in TimeRing.

const MOST_BUCKETS = 65_536

export class WindowedMinimum {
  /** Values that were no samples: negative, NaN, infinite. */
  dropped = 0
  private readonly ring: LeastRing

  /**
   * @param spanMs milliseconds after which a sample is forgotten at the latest
   * @param buckets parts of the span; a sample may be forgotten one part early
   * @throws RangeError naming the argument
   */
  constructor(spanMs: number, buckets: number = 10) {
    this.ring = new LeastRing(spanMs, buckets)
  }

  record(sample: number, now: number): void {
    if (isSample(sample)) this.ring.record(sample, now)
    else this.dropped++
  }

  /** The smallest sample of the window that ends at `now`; undefined when it has none. */
  value(now: number): number | undefined {
    const least = this.ring.read(now)
    return least === Infinity ? undefined : least
  }

  clear(now: number): void {
    this.ring.clear(now)
  }
}

/** The largest sample: the least of the negated ones. */
export class WindowedMaximum {
  dropped = 0
  private readonly ring: LeastRing

  /** See WindowedMinimum. */
  constructor(spanMs: number, buckets: number = 10) {
    this.ring = new LeastRing(spanMs, buckets)
  }

  record(sample: number, now: number): void {
    if (isSample(sample)) this.ring.record(-sample, now)
    else this.dropped++
  }

  /** The largest sample of the window that ends at `now`; undefined when it has none. */
  value(now: number): number | undefined {
    const least = this.ring.read(now)
    return least === Infinity ? undefined : -least
  }

  clear(now: number): void {
    this.ring.clear(now)
  }
}

/** One smallest value per bucket, Infinity for an empty one. */
class LeastRing {
  private readonly widthMs: number
  private readonly cells: number[]
  private at = 0
  private slot = 0
  private until = 0
  /** The smallest of all cells. */
  private least = Infinity

  constructor(spanMs: number, buckets: number) {
    wholeNumber('buckets', buckets, 1, MOST_BUCKETS)
    this.widthMs = milliseconds('spanMs', spanMs) / buckets
    this.cells = Array.from({ length: buckets }, () => Infinity)
  }

  record(value: number, now: number): void {
    if (now >= this.until) this.turn(now)
    if (value >= this.cells[this.at]!) return
    this.cells[this.at] = value
    if (value < this.least) this.least = value
  }

  read(now: number): number {
    if (now >= this.until) this.turn(now)
    return this.least
  }

  clear(now: number): void {
    if (now >= this.until) this.turn(now)
    this.cells.fill(Infinity)
    this.least = Infinity
  }

  private turn(now: number): void {
    const slot = slotAt(now, this.widthMs)
    if (slot === Infinity) return
    const cells = this.cells
    for (let gap = Math.min(slot - this.slot, cells.length); gap > 0; gap--) {
      this.at = this.at + 1 === cells.length ? 0 : this.at + 1
      cells[this.at] = Infinity
    }
    this.slot = slot
    this.until = (slot + 1) * this.widthMs
    let least = Infinity
    for (let i = 0; i < cells.length; i++) if (cells[i]! < least) least = cells[i]!
    this.least = least
  }
}
