import type { Warmed } from '../caches/warm-up.ts'
import { keysFor, type SteeredCache } from './registry.ts'

// How far are the warm-ups that operators have begun?
//
// A warm-up may take longer than somebody waits for an answer. It goes on then, and is seen here, also for a while after its end.
//
// Invariant: a warm-up is stopped at most once; what has ended is forgotten when {@link MOST_KEPT} others have ended since.

/** Of those that have ended: a screen of them. */
const MOST_KEPT = 16

export interface WarmUpOrder {
  readonly keys: readonly (string | number)[]
  /** In milliseconds; undefined: the cache's own. */
  readonly ttl?: number | undefined
  readonly everywhere: boolean
}

/** What operators see. */
export interface WarmUpView extends Warmed {
  readonly id: number
  readonly state: 'running' | 'done' | 'stopped'
}

/** A warm-up of one cache, from here. */
export class Warming {
  readonly id: number
  readonly cache: string
  /** Never rejects. */
  readonly over: Promise<Warmed>
  private so: Warmed
  private ended = false
  private readonly controller = new AbortController()

  constructor(id: number, name: string, cache: SteeredCache, { keys, ttl, everywhere }: WarmUpOrder) {
    this.id = id
    this.cache = name
    this.so = { warmed: 0, failed: 0, skipped: 0, left: keys.length }
    const { signal } = this.controller
    const progress = (so: Warmed): void => void (this.so = so)
    this.over = cache.warm(keysFor(keys), ttl, { signal, progress, everywhere })
    void this.over.then(() => void (this.ended = true))
  }

  get view(): WarmUpView {
    const { id, so, ended } = this
    const state = this.controller.signal.aborted ? 'stopped' : ended ? 'done' : 'running'
    return { id, state, ...so }
  }

  /** What has not begun is skipped; what runs is aborted, if nobody else waits for it. True when there was something to stop. */
  stop(): boolean {
    if (this.ended || this.controller.signal.aborted) return false
    this.controller.abort()
    return true
  }
}

export class WarmUps {
  private readonly running = new Set<Warming>()
  private kept: Warming[] = []
  private begun = 0

  begin(name: string, cache: SteeredCache, order: WarmUpOrder): Warming {
    const warming = new Warming(++this.begun, name, cache, order)
    this.running.add(warming)
    void warming.over.then(() => {
      this.running.delete(warming)
      this.kept = [...this.kept, warming].slice(-MOST_KEPT)
    })
    return warming
  }

  /** Of the cache of this name, the latest first. */
  of(name: string): WarmUpView[] {
    const all = [...this.kept, ...this.running].filter(({ cache }) => cache === name)
    return all.map(({ view }) => view).sort((a, b) => b.id - a.id)
  }

  /** Stops those of the cache of this name, of all caches without one; how many there were. */
  stop(name?: string): number {
    const all = [...this.running].filter(({ cache }) => name === undefined || cache === name)
    return all.filter((warming) => warming.stop()).length
  }
}
