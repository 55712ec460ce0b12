import type { HashSeed } from '../keys/hash.ts'
import type { CounterCache, CounterCacheOptions } from './counter-cache.ts'
import { FrequencySketch } from './frequency-sketch.ts'
import { type Entry, RecencyList } from './recency-list.ts'
import { RecordTable } from './record-table.ts'

// Which counters stay, if a crowd that comes once is not to drive out those that come all the time?
//
// Source: W-TinyLFU (Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy", 2017). Who is new comes into a small window,
// by recency. Who falls out of it has to compare himself, by how often each was used, with the one that the main part would give up: the rarer one
// goes. The main part is segmented: who is used there again is protected, and goes back on probation before he goes.
//
// 100 places: 1 window, 99 main, of which 79 protected. A scan of 10,000 values passes through the window, and of the main part it drives out next
// to nobody who was used more often than once lately.
//
// Invariant: window + main <= capacity; who must stay is not evicted, however rare.

/** Shares of the paper, as in Caffeine: of all the window, of the main part those that are protected. */
const WINDOW = 0.01
const PROTECTED = 0.8
/** Where nobody is to be kept from guessing: tests, tools. */
const SEED: HashSeed = [0.1, 0.2, 0.3, 0.4]

class TinyLfu<K, V> extends RecordTable<K, V> {
  private readonly windowMost: number
  private readonly protectedMost: number
  private readonly sketch: FrequencySketch
  private readonly window = new RecencyList<K, V>()
  private readonly probation = new RecencyList<K, V>()
  private readonly kept = new RecencyList<K, V>()
  protected readonly lists = [this.window, this.probation, this.kept, this.held]

  constructor(options: CounterCacheOptions<K, V>) {
    super(options)
    const { capacity, seed = SEED } = options
    this.windowMost = Math.max(1, Math.round(capacity * WINDOW))
    this.protectedMost = Math.floor((capacity - this.windowMost) * PROTECTED)
    this.sketch = new FrequencySketch(capacity, seed)
  }

  protected enter(entry: Entry<K, V>): void {
    const { window, windowMost, probation } = this
    this.sketch.add(entry.key)
    window.push(entry)
    while (window.size > windowMost && window.oldest !== null) probation.push(window.oldest)
  }

  protected use(entry: Entry<K, V>): void {
    const { window, probation, kept, protectedMost } = this
    this.sketch.add(entry.key)
    if (entry.list === window) return window.push(entry)
    kept.push(entry)
    while (kept.size > protectedMost && kept.oldest !== null) probation.push(kept.oldest)
  }

  /** Whoever would leave the window now, or whom the main part would give up for him. */
  protected last(): Entry<K, V> | undefined {
    const { window, windowMost, probation, kept, held, loss } = this
    if (held.size > 0) probation.takeBack(loss, held)
    const candidate = window.size >= windowMost ? window.leastMissed(loss, held) : undefined
    const victim = probation.leastMissed(loss, held) ?? kept.leastMissed(loss, held)
    if (candidate === undefined || victim === undefined) return candidate ?? victim
    const isFree = loss(candidate.record, candidate.key) <= 0
    // One of them can go without a loss: that one, however often he comes.
    if (isFree !== loss(victim.record, victim.key) <= 0) return isFree ? candidate : victim
    return this.sketch.count(candidate.key) > this.sketch.count(victim.key) ? victim : candidate
  }

  override purge(): void {
    super.purge()
    this.sketch.clear()
  }
}

/** Keeps those that were used often lately: a scan drives nobody out. */
export function tinyLfu<K, V>(options: CounterCacheOptions<K, V>): CounterCache<K, V> {
  return new TinyLfu(options)
}
