import type { Gate, Rejection } from '../core/gate.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Env } from '../core/runtime.ts'

/** The gates that a line waits for, with the ways to stop listening; and the time at which one of them is to be asked again. */
export class Watch {
  private readonly env: Env
  private readonly wake: () => void
  private readonly stops = new Map<Gate, () => void>()
  private cancelTimer: (() => void) | null = null

  constructor(env: Env, wake: () => void) {
    this.env = env
    this.wake = wake
  }

  /** Its gate wakes the line; so does the time that it named, where it did: gates have no timers of their own. */
  add({ gate, retryAfterMs }: Rejection): void {
    const at = gate as Gate
    if (!this.stops.has(at)) this.stops.set(at, at.onFree?.(this.wake) ?? (() => {}))
    if (retryAfterMs > 0) this.cancelTimer ??= this.env.after(retryAfterMs, this.ring)
  }

  private readonly ring = (): void => {
    this.cancelTimer = null
    this.wake()
  }

  stop(): void {
    for (const stop of this.stops.values()) stop()
    this.stops.clear()
    this.cancelTimer?.()
    this.cancelTimer = null
  }
}

/** The no of a gate that is worth waiting for, if any. */
export function waitedFor(outcome: Outcome<unknown>): Rejection | undefined {
  const { rejection } = outcome
  if (rejection === undefined || rejection.never) return undefined
  return (rejection.gate as Partial<Gate>).onFree === undefined ? undefined : rejection
}
