import { Call } from '../core/call.ts'
import type { Init } from '../core/init.ts'
import { answered, failed, type Outcome } from '../core/outcome.ts'
import type { Done } from '../core/policy.ts'
import type { Sink } from '../core/step.ts'
import type { Happening } from '../testing/agenda.ts'
import type { Fate } from './condition.ts'
import type { Reception } from './reception.ts'
import type { Job, Station } from './station.ts'

// What comes of a request, as its caller sees it. One object each: they carry no more than that.

/** It was answered. */
export const ANSWERED: Outcome<unknown> = answered(undefined)
/** An error, from a server that tried. */
export const BROKEN: Outcome<unknown> = failed(new Error('the server failed'))
/** No connection: nothing was sent. */
export const UNREACHABLE: Outcome<unknown> = failed(new Error('connection refused'), 'failure', false)
/** The connection broke: something may have run. */
export const RESET: Outcome<unknown> = failed(new Error('connection reset'))
/** Whoever asked has left. */
export const GONE: Outcome<unknown> = failed(new Error('the caller has left'), 'ignored', false)

const FULL = new Error('the server is overloaded')

/** The server says that it is too much. */
export function overloaded(retryAfterMs: number): Outcome<unknown> {
  return failed(FULL, 'overload', true, retryAfterMs)
}

/** How a server works through its requests. */
export interface Work {
  readonly station: Station<Request>
  readonly reception: Reception
  /** It came in; the work asks the guard when it is time to. */
  arrive(request: Request): void
  /** The guard lets it pass. */
  begin(request: Request): void
  /** It is refused; `request.refusal` is the answer. */
  refuse(request: Request): void
  /** Its turn at the station: how long it keeps the worker. */
  turn(request: Request): number
  /** What it waited for has come: the end of its time at the station, or of a wait. */
  happen(request: Request): void
  /** What it called has answered. */
  resume(request: Request): void
  /** It hung, and has been ended. */
  release(request: Request): void
}

/**
 * A request at its server: the far end of a call. Two things end it, in either order: the answer (or the caller, who leaves), and the work, which
 * goes on for nobody.
 */
export class Request implements Sink, Job, Happening {
  readonly id: number
  readonly arrivedAt: number
  /** What its work takes when nothing is wrong. */
  readonly sizeMs: number
  /** Its luck, uniform in (0, 1): drawn once for each request, whatever is wrong, so that a fault shifts nobody else's chance. */
  readonly dice: number
  /** What becomes of it, from when its work begins; a failure of what it calls changes it. */
  fate: Fate = 'answers'
  /** What runs here on behalf of the caller: cancelled when he is, and the parent of what the server calls. */
  readonly call: Call
  following: Job | null = null
  /** Where it is, in its server's own terms. */
  phase = 0
  /** Its work is done, or will not be. */
  over = false
  /** Nothing will come of it before the server's condition changes. */
  hung = false
  refusal: Outcome<unknown> | null = null
  /** The guard's: takes the end of the work. */
  ended: Done | null = null
  private readonly work: Work
  /** Forgotten with the answer: a server that works for those who have left may have half a million of them. */
  private caller: Call | null
  private done: Done | null

  constructor(work: Work, id: number, at: number, sizeMs: number, dice: number, caller: Call, done: Done) {
    this.work = work
    this.id = id
    this.arrivedAt = at
    this.sizeMs = sizeMs
    this.dice = dice
    this.caller = caller
    this.done = done
    // As a child the server's side hears of a cancel without an AbortSignal, which would cost four times the rest of the call.
    this.call = new Call(caller.host, caller.work, true, toldOf(caller))
    caller.adopt(this.call)
    this.call.run(this)
  }

  /** True when an answer would reach nobody. */
  get unwanted(): boolean {
    return this.done === null
  }

  answer(outcome: Outcome<unknown>): void {
    const { done, caller } = this
    if (done === null || caller === null) return
    this.done = null
    this.caller = null
    caller.orphan(this.call)
    done(outcome)
  }

  /** The caller has left: his end of the connection is closed at once. */
  settle(outcome: Outcome<unknown>): void {
    this.work.reception.left(this)
    this.answer(outcome)
  }

  succeed(value: unknown): void {
    this.settle(answered(value))
  }

  turn(): number {
    return this.work.turn(this)
  }

  happen(): void {
    if (!this.over) this.work.happen(this)
  }
}

/** What a caller tells about a call: all but what ties it to him. Written out: a spread would cost as much as the whole call. */
function toldOf({ init, criticality }: Call): Init {
  const { parent, within, signal, classify } = init
  if (parent == null && within == null && signal == null && classify === undefined && init.criticality !== undefined)
    return init
  const { cost = 1, key = '', idempotent = false, data, method } = init
  const told = { criticality, cost, key, idempotent, data }
  return method === undefined ? told : { ...told, method }
}
