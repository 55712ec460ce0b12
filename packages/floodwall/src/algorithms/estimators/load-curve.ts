// How long does the work take, by how much is being done at once?
//
// Means and spreads of service times, one for each doubling of what was running when the call began: 1, 2, 3-4, 5-8 and so on. The low end is
// the service time without any queue; calls that began with the server full are kept out of it, so that a queue cannot lengthen the baseline
// by which it is judged (go-kratos/aegis #35, envoyproxy/envoy #38338).
//
// What lies above may correct it. A queue makes calls slower as more are inside; where twice as many take as long, there is no queue, and the
// low end is known no better than that (a few calls by chance), or is out of date: the work itself has become slower. And where more inside
// are faster than fewer were, that was long ago.
//
// 20 ms with 1 or 2 running, 40 ms with 8 of a server that has 4 workers: the low end is 20 ms. 20 ms with 1, 30 ms with 2, with 3 and with 4,
// all seen lately: it is 30 ms.
//
// Invariant: a sample moves only the mean of its own bucket, and by no more than one in MEMORY once that many are known. With nothing but a
// full server to be seen, and calls that take longer the more are inside, nothing here moves: the baseline does not follow a queue.

/** 1 to 2^20 at once. */
const BUCKETS = 21
/** A change of the service time is learned within so many calls. */
const MEMORY = 128
/** Fewer in a bucket do not correct another. */
const ENOUGH = 24
/** So many exponential times are right to a half; with fewer there is nothing to compare. */
const COMPARABLE = 4
/** Of two buckets, one twice as far up: with a queue it takes twice as long, with half of a queue half as long again. */
const FLAT = 1.15
/** So many standard deviations. */
const CHANCE = 2
/** Of a bucket that is full: with exponential times, three standard deviations of its mean. */
const SURELY_LESS = 1.3
/** A call of so many times the mean is something else: it hung until what it waited for came back. Ten windows of such calls are the work itself. */
const APART = 10
/** Reads after which a bucket without new calls is no witness any more. */
const LATELY = 50

export class LoadCurve {
  /** Of the service time without a queue, as of the last {@link read}: mean, standard deviation; 0 while nothing is known. */
  mean = 0
  deviation = 0
  private readonly counts = new Float64Array(BUCKETS)
  private readonly means = new Float64Array(BUCKETS)
  private readonly squares = new Float64Array(BUCKETS)
  private readonly seen = new Float64Array(BUCKETS)
  private reads = 0
  /** Above it nothing was ever seen: a server that is never full has one or two buckets, which are read every few calls. */
  private used = 0

  record(tookMs: number, inFlight: number): void {
    const at = bucketOf(inFlight)
    if (at > this.used) this.used = at
    const { counts, means, squares } = this
    const took = counts[at]! < ENOUGH ? tookMs : Math.min(tookMs, means[at]! * APART)
    if (counts[at]! < MEMORY) counts[at]! += 1
    const share = 1 / counts[at]!
    means[at]! += (took - means[at]!) * share
    squares[at]! += (took * took - squares[at]!) * share
    this.seen[at] = this.reads
  }

  /** Computes mean and deviation: of the buckets that lie wholly within `most` at once, or the lowest one, corrected from above. */
  read(most: number): void {
    this.correct()
    const { counts, means, squares } = this
    let weight = 0
    let sum = 0
    let square = 0
    // Where only fuller servers were seen, they say nothing worse than what is known.
    let isLow = this.mean === 0
    for (let at = 0, top = 1; at <= this.used; at++, top *= 2) {
      const count = counts[at]!
      if (top > most && weight > 0 && !this.couldBe(at, weight, sum / weight)) break
      if (count > 0 && top <= most) isLow = true
      weight += count
      sum += count * means[at]!
      square += count * squares[at]!
    }
    const flat = this.highestFlat()
    if (flat >= 0) isLow = true
    if (flat >= 0 && means[flat]! * weight > sum) {
      weight = 1
      sum = means[flat]!
      square = squares[flat]!
    }
    this.reads++
    if (weight === 0 || !(isLow || sum / weight < this.mean)) return
    this.mean = sum / weight
    const variance = square / weight - this.mean * this.mean
    this.deviation = variance > 0 ? Math.sqrt(variance) : 0
  }

  /** Everything that was known is out of date: with so many inside it takes `tookMs` now. It is known well enough to stand up to the next few calls. */
  restart(tookMs: number, inside: number): void {
    const { counts, means, squares } = this
    this.deviation *= this.mean > 0 ? tookMs / this.mean : 0
    this.mean = tookMs
    counts.fill(0)
    means.fill(0)
    squares.fill(0)
    const at = bucketOf(inside)
    counts[at] = ENOUGH
    means[at] = tookMs
    squares[at] = tookMs * tookMs + this.deviation * this.deviation
    this.seen[at] = this.reads
    if (at > this.used) this.used = at
  }

  /**
   * Whether the mean of so few calls could by chance be what is well known of a bucket from `at` on. Those between, of which little is known, are not
   * asked: where everybody finds the limit reached, no more will be known of them. Three calls say nothing at all.
   */
  private couldBe(at: number, few: number, mean: number): boolean {
    if (few < COMPARABLE) return true
    const { counts } = this
    while (at < this.used && counts[at]! < ENOUGH) at++
    if (counts[at]! < ENOUGH) return counts[at] === 0 && few < ENOUGH
    const above = this.means[at]!
    const variance = this.squares[at]! - above * above
    return variance > 0 && above - mean < CHANCE * Math.sqrt(variance / few)
  }

  /** More inside are never faster: who was slower with fewer was so long ago. */
  private correct(): void {
    const { means, squares } = this
    let least = Number.POSITIVE_INFINITY
    for (let at = this.used; at >= 0; at--) {
      const mean = means[at]!
      if (mean > least * SURELY_LESS) {
        means[at] = least
        squares[at]! *= (least / mean) * (least / mean)
      } else if (mean < least && this.counts[at]! === MEMORY && this.isRecent(at)) least = mean
    }
  }

  /** The highest bucket whose next one, twice as far up, is no slower; -1 when there is none. */
  private highestFlat(): number {
    const { means } = this
    for (let at = this.used - 1; at >= 0; at--) {
      if (this.knows(at) && this.knows(at + 1) && means[at + 1]! <= FLAT * means[at]!) return at
    }
    return -1
  }

  private knows(at: number): boolean {
    return this.counts[at]! >= ENOUGH && this.isRecent(at)
  }

  private isRecent(at: number): boolean {
    return this.reads - this.seen[at]! <= LATELY
  }
}

function bucketOf(inFlight: number): number {
  return inFlight <= 1 ? 0 : Math.min(BUCKETS - 1, 32 - Math.clz32(inFlight - 1))
}
