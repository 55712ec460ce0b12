import { kept } from './text-copy.ts'

// Which values come most often, in a handful of counters?
//
// Source: Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005). A value that
// has no counter takes the one with the smallest count, and goes on from there.
//
// 2 counters: a 9 times, b 5 times, then c: c has 6, which is at most 5 too many.
//
// Invariant: a value that came more often than n / k times of n has a counter; a count is never too small.

/** A value and how often it came, at most. */
interface Counted<V> {
  readonly value: V
  readonly count: number
}

export class SpaceSaving<V> {
  private readonly counts = new Map<V, number>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  add(value: V): void {
    const { counts } = this
    const count = counts.get(value)
    if (count !== undefined) counts.set(value, count + 1)
    else if (counts.size < this.most) counts.set(kept(value), 1)
    else this.replace(value)
  }

  private replace(value: V): void {
    let rarest: V | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [other, count] of this.counts) {
      if (count >= least) continue
      least = count
      rarest = other
    }
    this.counts.delete(rarest as V)
    this.counts.set(kept(value), least + 1)
  }

  /** Most frequent first; of equals the one that came first. */
  top(): Counted<V>[] {
    return [...this.counts].map(([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count)
  }
}
