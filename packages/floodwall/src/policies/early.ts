import type { Call } from '../core/call.ts'
import { timeoutError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Env } from '../core/runtime.ts'
import type { Sink } from '../core/step.ts'

/**
 * The end of a caller's time, a margin early. Each caller has another time left, so that it has a timer of its own; and the time was the
 * caller's, so that its end is no evidence against anybody.
 */
export class Early implements Sink {
  private rang = false
  private readonly call: Call
  private readonly sink: Sink
  private readonly cancelTimer: () => void

  constructor(call: Call, leftMs: number, env: Env, sink: Sink) {
    this.call = call
    this.sink = sink
    this.cancelTimer = env.after(leftMs, () => {
      this.rang = true
      call.cancel(timeoutError('deadline', env.path, leftMs), 'ignored')
    })
  }

  settle(outcome: Outcome<unknown>): void {
    this.end()
    this.sink.settle(outcome)
  }

  succeed(value: unknown): void {
    this.end()
    this.sink.succeed(value)
  }

  private end(): void {
    if (this.rang) this.call.absorb()
    else this.cancelTimer()
  }
}
