import { fraction } from './argument.ts'
import { isSample } from './sample.ts'

// How are the latencies spread?
//
// Source: the log-linear buckets of HdrHistogram (Gil Tene). Every power of two of microseconds is cut into 16 equal
// buckets, so the error is a share of the value at any size, and finding the bucket is a count of leading zeros.
//
// 10 ms is 10,000 us, between 2^13 = 8,192 and 2^14. The buckets there are 512 wide, and it falls in the one that holds
// 9,728 to 10,239 us, which reads as its middle, 9.9835 ms: 0.17 % off.
//
// Invariant: the bucket counts add up to `count`. A percentile is off by at most 1/31 of the true sample at that rank,
// or half a microsecond, whichever is more; percentile(0) is `min` and percentile(1) is `max`, exactly. What
// percentile and countAtOrBelow say never disagrees: percentile(k / count) <= ms if and only if
// countAtOrBelow(ms) >= k.

/** Log2 of the buckets per power of two. 16 buckets: an error of 3 %, and 3.7 kB for a histogram. */
const BITS = 4
const PER_OCTAVE = 16
/** 2^32 - 1 us, 71.6 minutes. Longer samples are counted in the top bucket; `max` and `mean` keep them as they are. */
const TOP_US = 4_294_967_295
/** TOP_US has 32 bits, of which all but the first BITS + 1 are dropped by the index: 27 octaves, and two exact rows. */
export const BUCKETS: number = (32 - BITS + 1) * PER_OCTAVE

/** JSON-safe. The statistics of an empty histogram are null, its counts 0. */
export interface HistogramSnapshot {
  readonly count: number
  readonly dropped: number
  readonly mean: number | null
  readonly min: number | null
  readonly max: number | null
  readonly p50: number | null
  readonly p90: number | null
  readonly p95: number | null
  readonly p99: number | null
  readonly p999: number | null
}

/** Samples from `fromMs` up to and without `toMs`; the top bucket also holds all longer ones. */
export interface HistogramBucket {
  readonly fromMs: number
  readonly toMs: number
  readonly count: number
}

export class Histogram {
  /** Values that were no samples: negative, NaN, infinite. */
  dropped = 0

  /** Doubles: at 10,000 calls a second a 32-bit bucket would wrap to 0 after five days. */
  private readonly counts: Float64Array = new Float64Array(BUCKETS)
  private recorded = 0
  private sumMs = 0
  private leastMs = Infinity
  private mostMs = -Infinity

  /** Adds one sample, in milliseconds; fractions down to a microsecond count. */
  record(valueMs: number): void {
    if (!isSample(valueMs)) {
      this.dropped++
      return
    }
    this.counts[bucketOf(valueMs)]!++
    this.recorded++
    this.sumMs += valueMs
    if (valueMs < this.leastMs) this.leastMs = valueMs
    if (valueMs > this.mostMs) this.mostMs = valueMs
  }

  get count(): number {
    return this.recorded
  }

  /** Exact, up to the rounding of a sum; undefined when empty. */
  get mean(): number | undefined {
    if (this.recorded === 0) return undefined
    // Ten times 0.1 adds up to a little less than 1: a mean below the minimum would puzzle its reader.
    return Math.min(this.mostMs, Math.max(this.leastMs, this.sumMs / this.recorded))
  }

  get min(): number | undefined {
    return this.recorded === 0 ? undefined : this.leastMs
  }

  get max(): number | undefined {
    return this.recorded === 0 ? undefined : this.mostMs
  }

  /**
   * The sample, in milliseconds, at or below which a share `q` (0 to 1) of all samples lies: nearest rank, nothing
   * interpolated. Undefined when empty.
   * @throws RangeError when q is not in 0..1
   */
  percentile(q: number): number | undefined {
    fraction('q', q)
    if (this.recorded === 0) return undefined
    // 0.07 * 100 is a hair above 7, and rank 8 would be wrong: take two roundings' worth off before rounding up.
    const rank = Math.ceil(q * this.recorded * (1 - 2 * Number.EPSILON))
    if (rank <= 1) return this.leastMs
    if (rank >= this.recorded) return this.mostMs
    let seen = 0
    let index = -1
    while (seen < rank) seen += this.counts[++index]!
    return Math.min(this.mostMs, Math.max(this.leastMs, middleMs(index)))
  }

  /** Samples of at most `ms`, as a cumulative bucket of a metrics export wants them: a bucket counts by its middle. */
  countAtOrBelow(ms: number): number {
    if (ms >= this.mostMs) return this.recorded
    if (!(ms >= this.leastMs)) return 0
    let below = 0
    for (let index = 0; index < BUCKETS && middleMs(index) <= ms; index++) below += this.counts[index]!
    // The smallest sample is in and the largest is not, whatever the middles of their buckets say.
    return Math.min(this.recorded - 1, Math.max(1, below))
  }

  /** The buckets that hold anything, from short to long. */
  *buckets(): Generator<HistogramBucket, void, undefined> {
    for (let index = 0; index < BUCKETS; index++) {
      const count = this.counts[index]!
      if (count === 0) continue
      // Samples are rounded to the nearest microsecond, so a bucket begins half of one early.
      const fromMs = Math.max(0, lowUs(index) - 0.5) / 1000
      yield { fromMs, toMs: endMs(index), count }
    }
  }

  /** Adds all of the other's samples; it stays as it is. */
  merge(other: Histogram): void {
    for (let index = 0; index < BUCKETS; index++) this.counts[index]! += other.counts[index]!
    this.recorded += other.recorded
    this.dropped += other.dropped
    this.sumMs += other.sumMs
    if (other.leastMs < this.leastMs) this.leastMs = other.leastMs
    if (other.mostMs > this.mostMs) this.mostMs = other.mostMs
  }

  /** Forgets every sample. `dropped` stays: it is a lifetime count. */
  clear(): void {
    this.counts.fill(0)
    this.recorded = 0
    this.sumMs = 0
    this.leastMs = Infinity
    this.mostMs = -Infinity
  }

  snapshot(): HistogramSnapshot {
    return {
      count: this.recorded,
      dropped: this.dropped,
      mean: this.mean ?? null,
      min: this.min ?? null,
      max: this.max ?? null,
      p50: this.percentile(0.5) ?? null,
      p90: this.percentile(0.9) ?? null,
      p95: this.percentile(0.95) ?? null,
      p99: this.percentile(0.99) ?? null,
      p999: this.percentile(0.999) ?? null,
    }
  }
}

/** Where a sample of `valueMs` is counted. */
export function bucketOf(valueMs: number): number {
  return indexOf(valueMs * 1000 < TOP_US ? (valueMs * 1000 + 0.5) >>> 0 : TOP_US)
}

/** 0 to 31 us have a bucket each; from there on every power of two is cut into PER_OCTAVE. */
function indexOf(us: number): number {
  const shift = Math.max(0, 31 - BITS - Math.clz32(us))
  return shift * PER_OCTAVE + (us >>> shift)
}

/** How many whole microseconds share a bucket. */
function widthUs(index: number): number {
  return index < PER_OCTAVE ? 1 : 1 << ((index >> BITS) - 1)
}

/** The shortest of them: the inverse of indexOf. */
function lowUs(index: number): number {
  return index < PER_OCTAVE ? index : (PER_OCTAVE + (index & (PER_OCTAVE - 1))) * widthUs(index)
}

function middleMs(index: number): number {
  return (lowUs(index) + (widthUs(index) - 1) / 2) / 1000
}

/** Where a bucket ends: no sample in it is longer. */
export function endMs(index: number): number {
  return (lowUs(index) + widthUs(index) - 0.5) / 1000
}
