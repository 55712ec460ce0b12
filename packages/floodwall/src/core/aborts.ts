import type { Call } from './call.ts'

// Who hears that a caller has left?
//
// One listener per signal and pipeline, for all calls that came with it. A signal that ends a whole server is heard by every call of it: with
// a listener each, Node would take the eleventh for a leak, and removing one searches them all.
//
// Invariant: a signal has a listener of ours if and only if a call that came with it is under way.

/** Who leaves with a signal. */
type Leaving = Pick<Call, 'cancel'>

/** The calls that came with one signal. */
class Ear {
  private readonly signal: AbortSignal
  private readonly calls = new Set<Leaving>()

  constructor(signal: AbortSignal) {
    this.signal = signal
  }

  add(call: Leaving): void {
    if (this.calls.size === 0) this.signal.addEventListener('abort', this.hear)
    this.calls.add(call)
  }

  delete(call: Leaving): void {
    if (this.calls.delete(call) && this.calls.size === 0) this.signal.removeEventListener('abort', this.hear)
  }

  private readonly hear = (): void => {
    for (const call of [...this.calls]) call.cancel(this.signal.reason, 'ignored')
  }
}

/** The signals that calls of one pipeline came with. */
export class Aborts {
  private readonly ears = new WeakMap<AbortSignal, Ear>()

  /** From now on an abort of `signal` cancels `call`. */
  add(signal: AbortSignal, call: Leaving): void {
    let ear = this.ears.get(signal)
    if (ear === undefined) this.ears.set(signal, (ear = new Ear(signal)))
    ear.add(call)
  }

  delete(signal: AbortSignal, call: Leaving): void {
    this.ears.get(signal)?.delete(call)
  }
}
