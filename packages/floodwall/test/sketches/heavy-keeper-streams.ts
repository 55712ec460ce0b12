import { seeded } from 'floodwall/testing'

/** Keys 0, 1, 2 ... drawn with probability 1 / rank^exponent: 0 comes most often. */
export function zipf(exponent: number, keys: number, seed: number): () => number {
  const random = seeded(seed)
  const sums = new Float64Array(keys)
  let sum = 0
  for (let i = 0; i < keys; i++) sums[i] = sum += Math.exp(-exponent * Math.log(i + 1))
  return () => {
    const wanted = random() * sum
    let low = 0
    let high = keys - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) <= wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The naive reference: every key with its weight, each faded by the time since it was touched last. */
export class ExactCounts<K> {
  private readonly counts = new Map<K, { count: number; at: number }>()
  private readonly halfLifeMs: number

  constructor(halfLifeMs = Number.POSITIVE_INFINITY) {
    this.halfLifeMs = halfLifeMs
  }

  add(key: K, now: number, weight = 1): void {
    this.counts.set(key, { count: this.count(key, now) + weight, at: now })
  }

  count(key: K, now: number): number {
    const entry = this.counts.get(key)
    return entry === undefined ? 0 : entry.count * 0.5 ** ((now - entry.at) / this.halfLifeMs)
  }

  total(now: number): number {
    return [...this.counts.keys()].reduce((sum, key) => sum + this.count(key, now), 0)
  }

  /** The k largest, the largest first. */
  top(k: number, now: number): { key: K; count: number }[] {
    const all = [...this.counts.keys()].map((key) => ({ key, count: this.count(key, now) }))
    return all.sort((a, b) => b.count - a.count).slice(0, k)
  }
}
