import type { Doorkeeper } from '../algorithms/admission/doorkeeper.ts'
import type { Call } from '../core/call.ts'
import { type Gate, Permit, Rejection, type Snapshot } from '../core/gate.ts'
import type { Outcome, Verdict } from '../core/outcome.ts'
import type { Env } from '../core/runtime.ts'
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
  /** The room has heard of its end. */
  over = false
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
    this.over = true
    // Others may get their turn now, and throw.
    try {
      this.room.ended(this, outcome.verdict, outcome.ran)
    } finally {
      this.sink.settle(outcome)
    }
  }

  succeed(value: unknown): void {
    this.over = true
    try {
      this.room.ended(this, 'success', true)
    } finally {
      this.sink.succeed(value)
    }
  }
}

/** A head that has been out for so long, while somebody waits: what remains is its body. Most end in the same turn of the loop. */
const SHORT_MS = 10
/** The tag of a permit: its head is out. */
const HEAD_OUT = 1

/**
 * The places of work that outlives its outcome: of one that a timeout has given up, of an answer that is still being streamed. A call keeps
 * permits for such; made for those few calls, where all others are counted.
 *
 * The limit is learned from heads. A body that is long in being sent would hold a place of it although it does no work, and a few slow readers
 * would hold them all: so it gives the place to who waits, and has one of another kind.
 */
export class Slots implements Gate {
  readonly kind = 'overload'
  readonly holds = true
  readonly path: string
  private readonly env: Env
  private readonly keeper: Doorkeeper
  private readonly wake: () => void
  /** Heads that are out: those since the timer was set last, and those from before, while it runs. */
  private generation = 0
  private recent = 0
  private earlier = 0
  private watching = false

  /** `wake`: a place is free, or will be. */
  constructor(path: string, env: Env, keeper: Doorkeeper, wake: () => void) {
    this.path = path
    this.env = env
    this.keeper = keeper
    this.wake = wake
  }

  /** The place is given back when the last work of `call` has ended. */
  keep(call: Call, verdict: Verdict): void {
    const isHead = isHeadOut(call, verdict)
    if (isHead) this.recent++
    call.keep(new Permit(this, this.generation, isHead ? HEAD_OUT : 0), -1, verdict)
  }

  /** Somebody waits: bodies are to give him their places, if they are not over soon. */
  watch(): void {
    if (this.watching || this.recent === 0) return
    this.watching = true
    this.generation++
    this.earlier = this.recent
    this.recent = 0
    this.env.after(SHORT_MS, this.ring)
  }

  private readonly ring = (): void => {
    this.watching = false
    this.keeper.bodies += this.earlier
    this.earlier = 0
    this.wake()
  }

  tryAcquire(): Rejection {
    return new Rejection(this, 'full', 0, 0, 0, true)
  }

  settled(permit: Permit): void {
    this.end(permit)
  }

  cancelled(permit: Permit): void {
    this.end(permit)
  }

  private end({ tag, generation }: Permit): void {
    if (tag === HEAD_OUT) {
      if (generation === this.generation) this.recent--
      else if (this.watching && generation === this.generation - 1) this.earlier--
      else this.keeper.bodies--
    }
    this.keeper.released()
    this.wake()
  }

  inspect(): Snapshot {
    return { kind: this.kind, path: this.path }
  }
}

/** Its work has answered. Else somebody gave it up, or one of its earlier attempts, and it works still. */
function isHeadOut(call: Call, verdict: Verdict): boolean {
  return verdict !== 'timeout' && verdict !== 'ignored' && !call.cancelled && call.extra.later === null
}
