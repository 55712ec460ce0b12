import { rejectedError } from './errors.ts'
import type { Outcome } from './outcome.ts'
import type { Sink } from './step.ts'

// The promise at the pipeline's edge: the only place where an outcome becomes a value or an error that is thrown.

type Executor<T> = (resolve: (value: T) => void, reject: (error: unknown) => void) => void

/** Whose promise is being made. An executor of its own would cost each call a closure; the functions go to the call's own object at once. */
let making: Promised

const capture: Executor<unknown> = (resolve, reject) => {
  making.resolve = resolve
  making.reject = reject
}

/** Who counts the outcomes. */
interface Edge {
  count(outcome: Outcome<unknown>): void
  countSuccess(): void
}

function ignore(): void {}

/** The promise at the edge. */
export class Promised implements Sink {
  private readonly edge: Edge
  /** @internal */ resolve: (value: unknown) => void = ignore
  /** @internal */ reject: (error: unknown) => void = ignore

  constructor(edge: Edge) {
    this.edge = edge
  }

  /** The promise, which settles with the outcome. To be asked for once, and first. */
  open(): Promise<unknown> {
    making = this
    return new Promise(capture)
  }

  settle(outcome: Outcome<unknown>): void {
    this.edge.count(outcome)
    const { resolve, reject } = this
    if (outcome.ok) resolve(outcome.value)
    else rejectSoon(reject, outcome)
  }

  succeed(value: unknown): void {
    const { edge, resolve } = this
    edge.countSuccess()
    resolve(value)
  }
}

/** For errors that are thrown one microtask later. */
export const ready: Promise<void> = Promise.resolve()

/** Rejecting at once makes V8 book an unhandled rejection and take it back (6.3x a caught rejection); one microtask later it does not (3.7x). */
export function rejectSoon(reject: (error: unknown) => void, outcome: Outcome<unknown>): void {
  void ready.then(() => reject(outcome.rejection === undefined ? outcome.error : rejectedError(outcome.rejection)))
}
