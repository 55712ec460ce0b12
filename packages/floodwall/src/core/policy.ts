import type { Call } from './call.ts'
import type { Snapshot } from './gate.ts'
import { failed, type Outcome, verdictOfError } from './outcome.ts'

/** Takes the outcome of a call, exactly once. */
export type Done = (outcome: Outcome<unknown>) => void

/** The rest of the chain: runs the call, answers once, never throws. */
export type Next = (call: Call, done: Done) => void

/**
 * A step that may wait, repeat or replace the call. It answers through `done` exactly once and never throws. While it waits by itself (a
 * backoff, a queue) it says so with `call.wait(done)`, so that a deadline or an abort ends the waiting at once.
 */
export interface Policy {
  readonly kind: string
  readonly path: string
  run(call: Call, next: Next, done: Done): void
  inspect?(now: number): Snapshot
  /** Ends every wait: waiting callers are refused, nothing is left behind. */
  close?(): void
}

/** A policy in async style: `await next(call)` runs the rest. Costs about a promise more than callbacks do. */
export type AsyncPolicy = (call: Call, next: (call: Call) => Promise<Outcome<unknown>>) => Promise<Outcome<unknown>>

/** Adapts an {@link AsyncPolicy}. What it throws becomes a failed outcome; a cancel frees the caller whatever the author awaits. */
export class Around implements Policy {
  readonly kind = 'around'
  readonly path: string
  private readonly author: AsyncPolicy

  constructor(author: AsyncPolicy, path: string) {
    this.author = author
    this.path = path
  }

  run(call: Call, next: Next, done: Done): void {
    let answered = false
    const answer: Done = (outcome) => {
      if (answered) return
      answered = true
      call.resume()
      done(outcome)
    }
    const rest = (inner: Call): Promise<Outcome<unknown>> =>
      new Promise((resolve) => {
        call.resume()
        next(inner, (outcome) => {
          // The author goes on from here: until he has answered, a cancel must be heard by us again.
          if (!answered) call.wait(answer)
          resolve(outcome)
        })
      })
    call.wait(answer)
    // A cancel before we began was answered by wait(); the author need not start.
    if (answered) return
    let promise: Promise<Outcome<unknown>>
    try {
      promise = Promise.resolve(this.author(call, rest))
    } catch (error) {
      return answer(failed(error, verdictOfError(error)))
    }
    promise.then(answer, (error: unknown) => answer(failed(error, verdictOfError(error))))
  }

  inspect(): Snapshot {
    return { kind: this.kind, path: this.path }
  }
}
