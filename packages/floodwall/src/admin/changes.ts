import type { Env } from '../core/runtime.ts'
import { Refusal } from './answer.ts'

// What have operators changed?
//
// Each change is told and counted when it begins. Those that take time are few at once, so that a script that asks again and again holds
// nothing but its own connections.
//
// Invariant: a change that was begun is ended once; at most {@link MOST_RUNNING} are between.

/** Operators are a handful of people, and their scripts. */
const MOST_RUNNING = 16

export type Action = 'warm' | 'stop' | 'forget' | 'refresh'

export class Changes {
  readonly counts: Record<Action, number> = { warm: 0, stop: 0, forget: 0, refresh: 0 }
  /** Refused, because too many ran. */
  refused = 0
  running = 0
  private readonly env: Env

  constructor(env: Env) {
    this.env = env
  }

  /** Tells of a change of `what`, for example `caches/items`, which is over at once. */
  tell(action: Action, what: string, why: string): void {
    const { env } = this
    this.counts[action]++
    env.emit({ type: 'steered', at: env.now(), path: `${env.path}/${what}`, action, why })
  }

  /** The same, for one that runs until `over` has ended. Throws a {@link Refusal} when too many run. */
  run<T extends { readonly over: Promise<unknown> }>(action: Action, what: string, why: string, begin: () => T): T {
    if (this.running >= MOST_RUNNING) {
      this.refused++
      throw new Refusal(429, `${MOST_RUNNING} changes run already.`, { 'retry-after': '1' })
    }
    this.tell(action, what, why)
    const begun = begin()
    this.running++
    const ended = (): void => void this.running--
    begun.over.then(ended, ended)
    return begun
  }
}
