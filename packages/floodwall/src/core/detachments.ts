import type { Call } from './call.ts'
import { ConfigError, timeoutError } from './errors.ts'

// How far may work run away from its caller?
//
// A commit must be finished whatever becomes of the caller; a habit of detaching would bring back the work that nobody waits for. So a
// pipeline says how long a detached call may take at most, and counts them.
//
// Source: "Site Reliability Engineering", ch. 22, whose deadlines are inherited by default.

/** Where a pipeline does not say: what a minute cannot commit should be a job of its own. */
export const DETACH_MS = 60_000

export class Detachments {
  private readonly atMostMs: number
  /** Calls that took their leave. */
  count = 0

  /** @param atMostMs the longest that a detached call is given; 0: nobody may detach */
  constructor(atMostMs: number = DETACH_MS) {
    this.atMostMs = atMostMs
  }

  /** What a call that asks for `withinMs` is given; NaN, a span that somebody failed to read, is none. Throws where nobody may detach. */
  grant(withinMs: number, path: string): number {
    if (this.atMostMs === 0) {
      throw new ConfigError([{ path: `${path}.detachAtMost`, value: '0', expected: 'a span above 0: a call detaches' }])
    }
    this.count++
    return withinMs > 0 ? Math.min(withinMs, this.atMostMs) : 0
  }
}

/** The end of a detached call: its timer runs while somebody listens, a call on its behalf or whoever has its signal. */
export class Lapse {
  private readonly call: Call
  private readonly within: number
  private cancelTimer: (() => void) | null = null

  /** `call` has its deadline, `within` ms from when it began. */
  constructor(call: Call, within: number) {
    this.call = call
    this.within = within
  }

  listen(): void {
    const { call } = this
    this.cancelTimer ??= call.host.env.after(call.remainingMs, this.end, true)
  }

  /** Nobody listens any more. */
  rest(): void {
    this.cancelTimer?.()
    this.cancelTimer = null
  }

  private readonly end = (): void => {
    const { call, within } = this
    call.cancel(timeoutError('deadline', call.host.env.path, within), 'timeout')
  }
}
