import { levelOf, OPEN } from '../algorithms/admission/level.ts'
import { COHORTS } from '../algorithms/admission/priority.ts'
import type { Endpoint } from '../core/init.ts'

// How far down the line of priorities is each endpoint open, by its own word?
//
// For each API and each endpoint: a server that is overloaded by its reports may be idle for all else. Who says less is believed at once. Who says
// more is believed by and by, a class a second, and who says nothing any more as if he said that all may come: a level is found anew each 50 ms
// or so, swings, and with each swing upwards all who were held back would come at once. Only levels that refuse somebody are kept, so that in
// calm times nothing is.
//
// 320 was heard, and nothing since, or 512: 320 now, 448 after 1 s, 512 (everybody) after 1.5 s.
//
// Invariant: 0 <= level <= 512, at most what was said last plus what has come since; 4 s after the last word it is 512. At most MOST_KEPT words are
// kept, and those of the API that was heard of least recently go first.

/** A class a second, in places a millisecond. Measured at four times the load: with four classes a second a third more is refused there. */
const RISE = COHORTS / 1000
const MOST_KEPT = 1000

interface Word {
  readonly level: number
  readonly at: number
}

/** What the endpoints have said of one API. */
export class Words {
  private readonly byEndpoint = new Map<string, Word>()

  get size(): number {
    return this.byEndpoint.size
  }

  /** 512 where nothing is known. */
  level(endpoint: Endpoint, now: number): number {
    const word = this.byEndpoint.get(endpoint.id)
    return word === undefined ? OPEN : risen(word, now)
  }

  /** @internal */
  hear(endpoint: Endpoint, level: number, now: number): void {
    const next = Math.min(level, this.level(endpoint, now))
    if (next >= OPEN) this.byEndpoint.delete(endpoint.id)
    else this.byEndpoint.set(endpoint.id, { level: next, at: now })
  }

  /** @internal Forgets what nothing is left of. */
  tidy(now: number): void {
    for (const [id, word] of this.byEndpoint) if (risen(word, now) >= OPEN) this.byEndpoint.delete(id)
  }

  *[Symbol.iterator](): Generator<readonly [endpoint: string, word: Word]> {
    yield* this.byEndpoint
  }
}

export class Levels {
  /** By API; the one that was heard of last stands last. */
  private readonly byApi = new Map<string, Words>()

  /** Nobody is known to refuse anybody. */
  get empty(): boolean {
    return this.byApi.size === 0
  }

  /** What a header said. Two lines, or what is no level, say nothing. */
  hear(api: () => string, endpoint: Endpoint, text: string | null | undefined, now: number): void {
    const level = text == null ? undefined : levelOf(text)
    if (level === undefined || (this.empty && level >= OPEN)) return
    const name = api()
    const words = this.byApi.get(name) ?? new Words()
    words.hear(endpoint, level, now)
    this.byApi.delete(name)
    if (words.size > 0) this.byApi.set(name, words)
    this.bound()
  }

  /** What is known of `api`; undefined: nothing. */
  of(api: string, now: number): Words | undefined {
    const words = this.byApi.get(api)
    if (words === undefined) return undefined
    words.tidy(now)
    if (words.size > 0) return words
    this.byApi.delete(api)
    return undefined
  }

  private bound(): void {
    let kept = 0
    for (const words of this.byApi.values()) kept += words.size
    for (const [api, words] of this.byApi) {
      if (kept <= MOST_KEPT || this.byApi.size === 1) return
      kept -= words.size
      this.byApi.delete(api)
    }
  }

  /** What still counts: JSON-safe, at most `most`. */
  inspect(now: number, most: number): { api: string; endpoint: string; level: number; ageMs: number }[] {
    const all: { api: string; endpoint: string; level: number; ageMs: number }[] = []
    for (const [api, words] of this.byApi) {
      for (const [endpoint, word] of words) {
        const level = risen(word, now)
        if (level >= OPEN) continue
        if (all.length >= most) return all
        all.push({ api, endpoint, level, ageMs: now - word.at })
      }
    }
    return all
  }
}

function risen({ level, at }: Word, now: number): number {
  return Math.min(OPEN, level + RISE * Math.max(0, now - at))
}
