import type { Call } from '../core/call.ts'
import type { Sink } from '../core/step.ts'

/** A call that waits for its turn. */
export class PaceWaiter {
  readonly call: Call
  readonly sink: Sink
  readonly cost: number
  /** When it came, on the precise clock. */
  readonly since: number
  /** When it may go; known once it is the first. */
  dueAt = Number.POSITIVE_INFINITY
  /** Goes on, in the waiter's own async context. */
  go: () => void = () => {}
  /** @internal */ previous: PaceWaiter | null = null
  /** @internal */ following: PaceWaiter | null = null

  constructor(call: Call, sink: Sink, cost: number, since: number) {
    this.call = call
    this.sink = sink
    this.cost = cost
    this.since = since
  }
}

/** Who waits, in the order in which they came; anybody may leave from anywhere. */
export class PaceLine {
  first: PaceWaiter | null = null
  private last: PaceWaiter | null = null
  size = 0
  /** What those behind the first cost together. */
  behind = 0

  push(waiter: PaceWaiter): void {
    waiter.previous = this.last
    if (this.last === null) this.first = waiter
    else {
      this.last.following = waiter
      this.behind += waiter.cost
    }
    this.last = waiter
    this.size++
  }

  remove(waiter: PaceWaiter): void {
    const { previous, following } = waiter
    if (previous === null) this.first = following
    else previous.following = following
    if (following === null) this.last = previous
    else following.previous = previous
    // Whoever is first now is not behind any more.
    const gone = previous === null ? following : waiter
    this.behind -= gone === null ? 0 : gone.cost
    this.size--
    // A sum of many differences would drift.
    if (this.size <= 1) this.behind = 0
  }
}
