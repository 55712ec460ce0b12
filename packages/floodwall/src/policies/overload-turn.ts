import type { Env } from '../core/runtime.ts'

// What has the event loop not looked at yet?
//
// A loop whose handlers compute finds what came meanwhile all at once, when it reads its sockets again. Who begins work as soon as the first of
// them is met learns of the others one piece of work at a time: with 20 waiting and 20 ms each, the last of them in 400 ms. So a call that has
// waited for the loop waits a little longer here, until its turn of the loop is over and all that came with it stands in the line: then the flood
// is seen for what it is, and the first to go is who matters most.
//
// Invariant: between two turns nobody is kept who could go; one task per turn, and none where nobody has waited.

/** Work that computes for so long has kept the loop from its sockets: a target of CoDel (RFC 8289). They come next, and then who waits. */
const LONG_MS = 5

export class Turn {
  private readonly env: Env
  private readonly over: () => void
  private armed = false
  /** When the first call of this turn was met; Infinity while there was none. */
  private began = Number.POSITIVE_INFINITY

  /** `over`: all sockets were read. */
  constructor(env: Env, over: () => void) {
    this.env = env
    this.over = over
  }

  /** A call is met that has waited for the loop; when the first one of this turn was. */
  met(now: number): number {
    if (this.began > now) {
      this.began = now
      this.readOn()
    }
    return this.began
  }

  /** True when work has been done since `since` for so long that the sockets come first: then there will be an end of the turn. */
  isLong(since: number): boolean {
    const long = this.env.precise() - since >= LONG_MS
    if (long) this.readOn()
    return long
  }

  private readOn(): void {
    if (this.armed) return
    this.armed = true
    this.env.soon(this.end)
  }

  private readonly end = (): void => {
    this.armed = false
    this.began = Number.POSITIVE_INFINITY
    this.goOn()
  }

  /** Those who wait go on, now. What one of them throws is no business of whoever is here. */
  goOn(): void {
    try {
      this.over()
    } catch (error) {
      this.env.after(0, () => {
        throw error
      })
    }
  }
}
