// How is a cache filled before the crowd comes, without being the crowd?
//
// A line of keys and a few loads at once, whoever has asked for them: by hand, from an admin page, or from another process.
//
// Invariant: at most `parallel` run, at most `most` wait; every key ends once, as warmed, failed or skipped.

/** What became of the keys of one warm-up. */
export interface Warmed {
  /** Loaded and kept, or kept for long enough already. */
  readonly warmed: number
  readonly failed: number
  /** Not tried: the line was full, the signal was aborted, or the cache was closed. */
  readonly skipped: number
  /** Not done yet: 0 in the result. */
  readonly left: number
}

export type Fate = 'warmed' | 'failed' | 'skipped'

/** A key to be warmed. */
export interface Chore<K> {
  readonly key: K
  readonly ttlMs: number
  readonly signal: AbortSignal | undefined
  readonly done: (fate: Fate) => void
}

export class WarmUp<K> {
  private readonly parallel: number
  private readonly most: number
  private readonly run: (chore: Chore<K>, done: (fate: Fate) => void) => void
  private line: Chore<K>[] = []
  /** Of the line, where the first stands that has not begun. */
  private next = 0
  private running = 0
  private pumping = false
  private closed = false

  /** @param run warms one key, and says once what became of it */
  constructor(parallel: number, most: number, run: (chore: Chore<K>, done: (fate: Fate) => void) => void) {
    this.parallel = parallel
    this.most = most
    this.run = run
  }

  /** Keys that wait for their turn. */
  get waiting(): number {
    return this.line.length - this.next
  }

  /** Warms `keys` for `ttlMs`; resolves when each has its fate, and never rejects. `progress` is called after each. */
  add(keys: readonly K[], ttlMs: number, signal?: AbortSignal, progress?: (so: Warmed) => void): Promise<Warmed> {
    const counts = { warmed: 0, failed: 0, skipped: 0, left: keys.length }
    return new Promise((resolve) => {
      if (keys.length === 0) return resolve(counts)
      const done = (fate: Fate) => {
        counts[fate]++
        counts.left--
        tell(progress, { ...counts })
        if (counts.left === 0) resolve(counts)
      }
      for (const key of keys) {
        if (this.closed || this.waiting >= this.most) done('skipped')
        else this.line.push({ key, ttlMs, signal, done })
      }
      this.pump()
    })
  }

  /** A loop and no recursion: keys that need no load end at once. */
  private pump(): void {
    if (this.pumping) return
    this.pumping = true
    // Who hears of a key may add some, or close: both find nothing in the line that has begun.
    while (this.waiting > 0 && this.running < this.parallel) this.begin(this.line[this.next++] as Chore<K>)
    this.line.splice(0, this.next)
    this.next = 0
    this.pumping = false
  }

  private begin(chore: Chore<K>): void {
    if (chore.signal?.aborted === true) return chore.done('skipped')
    this.running++
    this.run(chore, (fate) => {
      this.running--
      chore.done(fate)
      this.pump()
    })
  }

  /** What waits is skipped, what comes too. */
  close(): void {
    this.closed = true
    const left = this.line.slice(this.next)
    this.line = []
    this.next = 0
    for (const { done } of left) done('skipped')
  }
}

/** A listener's fault is not the cache's. */
function tell(progress: ((so: Warmed) => void) | undefined, so: Warmed): void {
  try {
    progress?.(so)
  } catch {}
}
