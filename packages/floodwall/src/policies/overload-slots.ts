import type { Call } from '../core/call.ts'
import { type Gate, Permit, Rejection, type Snapshot } from '../core/gate.ts'
import type { Outcome, Verdict } from '../core/outcome.ts'
import type { Sink } from '../core/step.ts'

/** Hears of the end. */
export interface Room {
  ended(entered: Entered, verdict: Verdict, ran: boolean): void
}

/** A call that is inside. */
export class Entered implements Sink {
  readonly call: Call
  readonly since: number
  /** How many ran when it began, itself included. */
  readonly inFlight: number
  private readonly room: Room
  private readonly sink: Sink

  constructor(room: Room, call: Call, sink: Sink, since: number, inFlight: number) {
    this.room = room
    this.call = call
    this.sink = sink
    this.since = since
    this.inFlight = inFlight
  }

  settle(outcome: Outcome<unknown>): void {
    this.room.ended(this, outcome.verdict, outcome.ran)
    this.sink.settle(outcome)
  }

  succeed(value: unknown): void {
    this.room.ended(this, 'success', true)
    this.sink.succeed(value)
  }
}

/**
 * The places of work that outlives its outcome: of one that a timeout has given up, of an answer that is still being streamed. A call keeps
 * permits for such; made for those few calls, where all others are counted.
 */
export class Slots implements Gate {
  readonly kind = 'overload'
  readonly holds = true
  readonly path: string
  private readonly free: () => void

  constructor(path: string, free: () => void) {
    this.path = path
    this.free = free
  }

  /** The place is given back when the last work of `call` has ended. */
  keep(call: Call, verdict: Verdict): void {
    call.keep(new Permit(this, 0), -1, verdict)
  }

  tryAcquire(): Rejection {
    return new Rejection(this, 'full', 0, 0, 0, true)
  }

  settled(): void {
    this.free()
  }

  cancelled(): void {
    this.free()
  }

  inspect(): Snapshot {
    return { kind: this.kind, path: this.path }
  }
}
