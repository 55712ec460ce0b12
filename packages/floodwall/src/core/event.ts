import type { Reason } from './gate.ts'

/**
 * A change worth telling. Not a call: calls are counted (see `inspect()`), never published one by one.
 * Common fields: `at` is the runtime's clock in milliseconds, `path` the layer that speaks.
 */
export type FloodEvent = { readonly at: number; readonly path: string } & (
  | { readonly type: 'state'; readonly from: string; readonly to: string; readonly why: string }
  /** Sampled: at most one per second, gate and reason; `count` says how many it stands for. */
  | {
      readonly type: 'refused'
      readonly reason: Reason
      readonly count: number
      readonly why: string
      readonly shadow: boolean
    }
  | { readonly type: 'limit'; readonly from: number; readonly to: number; readonly why: string }
  /** Something is configured so that it will surprise. */
  | { readonly type: 'warning'; readonly why: string }
  /** A permit or hold was never ended by its owner and was taken back. */
  | { readonly type: 'lapsed'; readonly why: string }
  /** A call left its caller's deadline and abort behind, on purpose. */
  | { readonly type: 'detached'; readonly why: string; readonly withinMs: number }
  /** A key has become hot, or has cooled: at most once per second and layer, and of each layer at most k keys. */
  | {
      readonly type: 'hot'
      readonly key: string | number
      readonly hot: boolean
      readonly perSecond: number
      readonly share: number
    }
  /** An operator has changed something by hand: `action` is `warm`, `stop`, `forget` or `refresh`. */
  | { readonly type: 'steered'; readonly action: string; readonly why: string }
  | {
      readonly type: 'reloaded'
      readonly kept: number
      readonly changed: number
      readonly added: number
      readonly removed: number
    }
)

/** Receives events. What it throws is swallowed and counted: a listener never changes the outcome of a call. */
export type Listener = (event: FloodEvent) => void

/** Listeners of one pipeline. */
export class Listeners {
  /** Errors that listeners threw. */
  failures = 0
  private list: readonly Listener[] = []

  get any(): boolean {
    return this.list.length > 0
  }

  add(listener: Listener): Disposable {
    // A wrapper of its own, so that one function subscribed twice is removed once by each handle.
    const entry: Listener = (event) => listener(event)
    this.list = [...this.list, entry]
    return { [Symbol.dispose]: () => void (this.list = this.list.filter((other) => other !== entry)) }
  }

  emit(event: FloodEvent): void {
    // `list` is replaced, never changed in place: a listener may remove itself while we go through it.
    for (const listener of this.list) {
      try {
        // An async listener fails later, and an unhandled rejection would end the process.
        const returned: unknown = listener(event)
        if (returned instanceof Promise) returned.catch(this.fail)
      } catch {
        this.fail()
      }
    }
  }

  clear(): void {
    this.list = []
  }

  private readonly fail = (): void => {
    this.failures++
  }
}

const LONGEST_MESSAGE = 200

/** What went wrong, short enough for an event. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_MESSAGE)
}
