import { Alarm, type AlarmList } from '../core/alarms.ts'
import type { Call } from '../core/call.ts'
import { timeoutError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Sink } from '../core/step.ts'

/** Whose time it is that ends. */
interface Owner {
  readonly kind: 'timeout' | 'deadline'
  readonly path: string
  readonly alarms: AlarmList
  /** How often the time was over. */
  rung: number
}

/**
 * The end of a call's time: cancels it from inside, so that every layer between hears of it and the work's signal fires. It is its own
 * alarm and its own continuation: one object for each call under a limit.
 */
export class Due extends Alarm implements Sink {
  private readonly call: Call
  private readonly owner: Owner
  private readonly sink: Sink

  constructor(call: Call, owner: Owner, sink: Sink) {
    super()
    this.call = call
    this.owner = owner
    this.sink = sink
    owner.alarms.add(this)
  }

  override ring(): void {
    this.owner.rung++
    const { kind, path, alarms } = this.owner
    this.call.cancel(timeoutError(kind, path, alarms.spanMs), 'timeout')
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
    // What is not in the list any more has rung: the cancel was ours, and ends here.
    if (!this.owner.alarms.remove(this)) this.call.absorb()
  }
}
