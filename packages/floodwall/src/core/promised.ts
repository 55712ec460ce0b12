import { rejectedError } from './errors.ts'
import type { Outcome } from './outcome.ts'
import type { Sink } from './step.ts'

// The promise at the pipeline's edge: the only place where an outcome becomes a value or an error that is thrown.

type Executor<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => void

/** The last promise's functions, for the one line after it: an executor of its own would cost each call a closure. */
const captured: { resolve: (value: unknown) => void; reject: (error: unknown) => void } = {
  resolve: () => {},
  reject: () => {},
}

const capture: Executor<unknown> = (resolve, reject) => {
  captured.resolve = resolve
  captured.reject = reject
}

/** Who counts the outcomes. */
interface Edge {
  count(outcome: Outcome<unknown>): void
}

/** The promise at the edge. */
export class Promised implements Sink {
  /** Settles with the outcome. */
  readonly promise: Promise<unknown>
  private readonly edge: Edge
  private readonly resolve: (value: unknown) => void
  private readonly reject: (error: unknown) => void

  constructor(edge: Edge) {
    this.edge = edge
    this.promise = new Promise(capture)
    this.resolve = captured.resolve
    this.reject = captured.reject
  }

  settle(outcome: Outcome<unknown>): void {
    this.edge.count(outcome)
    const { resolve, reject } = this
    if (outcome.ok) resolve(outcome.value)
    else rejectSoon(reject, outcome)
  }
}

/** For errors that are thrown one microtask later. */
export const ready: Promise<void> = Promise.resolve()

/** Rejecting at once makes V8 book an unhandled rejection and take it back (6.3x a caught rejection); one microtask later it does not (3.7x). */
export function rejectSoon(reject: (error: unknown) => void, outcome: Outcome<unknown>): void {
  void ready.then(() => reject(outcome.rejection === undefined ? outcome.error : rejectedError(outcome.rejection)))
}
