import { type Refuser, Rejection } from '../../core/gate.ts'
import { printable } from './hot-parameter-value.ts'

/** A no to one value: the numbers are those of its own limit, and `parameter` says which value it was. */
export class ParameterRejection extends Rejection {
  private readonly of: unknown
  private readonly inner: Rejection

  constructor(gate: Refuser, inner: Rejection, of: unknown) {
    super(gate, inner.reason, inner.retryAfterMs, inner.value, inner.limit, inner.never)
    this.of = of
    this.inner = inner
  }

  /** The value, short and in one line; `others` for those that share a limit. */
  get parameter(): string {
    return printable(this.of)
  }

  override get why(): string {
    return `${this.parameter}: ${this.inner.why}`
  }
}
