// Until when is an API not to be asked?
//
// One endpoint may speak for the API (a quota is the same everywhere) or for itself (it is overloaded, its neighbours may not be). Voices of
// endpoints for themselves are collected: only when as many have asked as there are, nobody is left to ask, and the first who is back ends it.
//
// Three endpoints ask for pauses until 10, 12 and 11 s. After two of them the calls go on, to the third; after the third nothing is sent
// until 10 s.
//
// Invariant: `until` never moves back, and is at most the latest time that anybody asked for.

export class HeldApi {
  /** On the runtime's clock; 0: not held. */
  until = 0
  /** The pause that was asked for, in milliseconds. */
  saidMs = 0
  /** By endpoint, until when it asked to be spared. */
  private voices: Map<string, number> | null = null

  /** Whoever asked speaks for the API. */
  hold(until: number, saidMs: number): void {
    if (until <= this.until) return
    this.until = until
    this.saidMs = saidMs
  }

  /** `endpoint` asked for itself; when `needed` have, the API is held until the first of them is back. */
  hear(endpoint: string, until: number, saidMs: number, needed: number, now: number): void {
    this.voices ??= new Map()
    this.voices.set(endpoint, Math.max(until, this.voices.get(endpoint) ?? 0))
    this.forget(now)
    if (this.voices.size >= needed) this.hold(Math.min(...this.voices.values()), saidMs)
  }

  /** True while there is anything to remember. */
  remembers(now: number): boolean {
    this.forget(now)
    return this.until > now || (this.voices !== null && this.voices.size > 0)
  }

  private forget(now: number): void {
    for (const [endpoint, until] of this.voices ?? []) if (until <= now) this.voices?.delete(endpoint)
  }
}
