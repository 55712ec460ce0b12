import type { Call } from './call.ts'
import type { Snapshot } from './gate.ts'
import { failed, type Outcome, verdictOfError } from './outcome.ts'
import { show } from './schema.ts'
import type { Step } from './step.ts'

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
  /** @internal The same without closures, for layers that every call passes; used instead of `run` where it is there. */
  step?(inner: Step): Step
  inspect?(now: number): Snapshot
  /** Calls that wait here now. What a reload took out is then not closed, and kept in sight until they have gone. */
  readonly waiting?: number
  /** Ends every wait, and begins none any more: waiting callers are answered, nothing is left behind. */
  close?(): void
}

/** A policy in async style: `await next(call)` runs the rest. Costs about a promise more than callbacks do. */
export type AsyncPolicy = (call: Call, next: (call: Call) => Promise<Outcome<unknown>>) => Promise<Outcome<unknown>>

/**
 * Adapts an {@link AsyncPolicy}. What it throws becomes a failed outcome; a cancel frees the caller whatever the author awaits; attempts that
 * still run when the author has answered (he raced them) are cancelled, so that every layer further in hears of their end.
 */
export class Around implements Policy {
  readonly kind: string
  readonly path: string
  private readonly author: AsyncPolicy

  constructor(author: AsyncPolicy, path: string, kind = 'around') {
    this.author = author
    this.path = path
    this.kind = kind
  }

  run(call: Call, next: Next, done: Done): void {
    let answered = false
    let inside = 0
    const answer: Done = (outcome) => {
      if (answered) return
      answered = true
      if (inside === 0) call.resume()
      else {
        call.cancel(abandoned(this.path), 'ignored')
        call.absorb()
      }
      done(outcome)
    }
    const rest = (inner: Call): Promise<Outcome<unknown>> =>
      new Promise((resolve) => {
        if (answered) return resolve(failed(abandoned(this.path), 'ignored', false))
        if (inside++ === 0) call.resume()
        next(inner, (outcome) => {
          // The author goes on from here: until he has answered, a cancel must be heard by us again.
          if (--inside === 0 && !answered) call.wait(answer)
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
    promise.then(
      (outcome) => answer(isOutcome(outcome) ? outcome : failed(noOutcome(this.path, outcome))),
      (error: unknown) => answer(failed(error, verdictOfError(error))),
    )
  }

  inspect(): Snapshot {
    return { kind: this.kind, path: this.path }
  }
}

/** The reason that an attempt hears when its author has answered without it. */
function abandoned(path: string): Error {
  const error = new Error(`${path}: answered without this attempt`)
  error.name = 'AbortError'
  return error
}

/** JavaScript authors forget a `return`; without this look the caller would wait for ever. */
function isOutcome(value: unknown): value is Outcome<unknown> {
  return typeof value === 'object' && value !== null && 'verdict' in value && 'ran' in value
}

function noOutcome(path: string, value: unknown): TypeError {
  return new TypeError(`${path}: expected the policy to answer with an outcome, got ${show(value)}`)
}
