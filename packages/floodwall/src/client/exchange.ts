import { operationOf } from '../core/attempts.ts'
import type { Call } from '../core/call.ts'
import { rejectedError } from '../core/errors.ts'
import type { Endpoint, Init } from '../core/init.ts'
import { answered, type Classify, failed, type Outcome, refused, type Verdict } from '../core/outcome.ts'
import type { Pipeline } from '../core/pipeline.ts'
import type { Done, Next } from '../core/policy.ts'
import { unixNow } from '../core/system.ts'
import { verdictOfStatus } from '../wire/codes.ts'
import { names } from '../wire/names.ts'
import { noWish, type Pushback, pushbackOfBody, pushbackOfBoth, pushbackOfHeaders } from '../wire/pushback.ts'
import { apiOf } from './api.ts'
import type { Looked } from './error-answer.ts'
import type { Levels } from './levels.ts'
import type { Propagation } from './propagation.ts'
import type { Ended } from './response-body.ts'
import { outcomeOfError } from './verdict.ts'

// One request, over all its attempts: what was sent, what came back, and what becomes of the answers that nobody gets.
//
// Invariant: of all answers that arrive, one goes to the caller, and its slot is held until its body is over; the others are discarded when
// the operation is. Not before: a retry that is refused hands the answer before it to the caller.

/** How to send one kind of request, and to read its answers. */
export interface Wire<A> {
  /** Sends it to where the call goes; `signal` ends it, also while the body of the answer comes. */
  send(call: Call, signal: AbortSignal): Promise<A>
  /** Nobody has read of the request's body, so that it can be sent again. */
  whole(): boolean
  status(answer: A): number
  /** Undefined or null for none, and for several lines. */
  header(answer: A, name: string): string | null | undefined
  /** There is a body to wait for. */
  hasBody(answer: A): boolean
  /** Calls `ended` when the body is over. */
  follow(answer: A, ended: Ended): void
  /** Nobody will read the body. */
  discard(answer: A): void
  /** Reads the body of an error, if it is short and JSON; undefined when it is not. Never rejects. */
  look(answer: A): Promise<Looked<A>> | undefined
}

/** An answer, with what its server wishes. */
interface Heard<A> {
  readonly answer: A
  readonly wish: Pushback
  /** All of its body is here: the endpoint has nothing to do for it any more. */
  readonly whole: boolean
}

export interface ExchangeOptions {
  readonly init: Init
  readonly classify: Classify | undefined
  /** So long a body may hold its slot, in milliseconds. */
  readonly bodyMs: number
  readonly propagation: Propagation
  /** Where the answers' word about admission goes; undefined: it is not believed. */
  readonly levels: Levels | undefined
}

/** From here on a status is an error, and says when to come again. */
const FIRST_ERROR = 400

export class Exchange<A> {
  private readonly wire: Wire<A>
  private readonly options: ExchangeOptions
  /** With what ends the hold of each. */
  private readonly answers = new Map<A, Ended>()
  private over = false

  constructor(wire: Wire<A>, options: ExchangeOptions) {
    this.wire = wire
    this.options = options
  }

  /** Resolves with the answer once its head is here; rejects as `pipeline.call` does. */
  async run(pipeline: Pipeline): Promise<A> {
    const outcome = await new Promise<Outcome<unknown>>((resolve) => {
      pipeline.start(this.attempt, resolve, this.options.init)
    })
    this.over = true
    for (const [answer, ended] of this.answers) {
      if (answer === outcome.value) continue
      this.wire.discard(answer)
      ended('ignored')
    }
    return valueOf(outcome as Outcome<A>)
  }

  private readonly attempt: Next = (call, done) => {
    const refusal = this.options.propagation.refusal(call)
    if (refusal !== undefined) return done(refused(refusal))
    const controller = new AbortController()
    const untie = tie(call.signal, controller)
    this.send(call, controller.signal).then(
      (heard) => {
        untie()
        this.arrived(call, heard, controller, done)
      },
      (error: unknown) => {
        untie()
        this.broke(call, error, done)
      },
    )
  }

  /** The body of an error is waited for within the time of the attempt. */
  private async send(call: Call, signal: AbortSignal): Promise<Heard<A>> {
    const { wire } = this
    const answer = await wire.send(call, signal)
    const { levels } = this.options
    // Before the outcome: the next attempt may go by it.
    levels?.hear(() => apiOf(call), call.endpoint as Endpoint, wire.header(answer, names.level), call.host.env.now())
    if (wire.status(answer) < FIRST_ERROR) return { answer, wish: noWish, whole: false }
    const wish = pushbackOfHeaders((name) => wire.header(answer, name), unixNow())
    const looked = wire.hasBody(answer) ? await wire.look(answer) : undefined
    if (looked?.text === undefined) return { answer: looked?.answer ?? answer, wish, whole: false }
    return { answer: looked.answer, wish: pushbackOfBoth(wish, pushbackOfBody(looked.text)), whole: true }
  }

  private broke(call: Call, error: unknown, done: Done): void {
    done(outcomeOfError(call, error, this.classify, this.isGone(call)))
  }

  private arrived(call: Call, { answer, wish, whole }: Heard<A>, controller: AbortController, done: Done): void {
    // Too late for everybody: a timeout was faster, or another attempt.
    if (this.over || call.cancelled) {
      this.wire.discard(answer)
      return done(failed(undefined, 'ignored'))
    }
    this.answers.set(answer, whole ? () => {} : this.hold(call, answer, controller))
    done(this.outcomeOf(call, answer, wish))
  }

  /** The slot stays taken, and the caller's abort is heard, until the body is over. */
  private hold(call: Call, answer: A, controller: AbortController): Ended {
    if (!this.wire.hasBody(answer)) return () => {}
    const { init } = call
    const release = call.hold(this.options.bodyMs)
    const unties: (() => void)[] = []
    const ended: Ended = (verdict) => {
      for (const untie of unties) untie()
      release(verdict)
    }
    this.wire.follow(answer, ended)
    controller.signal.addEventListener('abort', () => ended('ignored'), { once: true })
    for (const signal of [init.signal, init.parent?.signal]) {
      if (signal !== undefined && !controller.signal.aborted) unties.push(tie(signal, controller))
    }
    return ended
  }

  private outcomeOf(call: Call, answer: A, { retryAfterMs, noRetry }: Pushback): Outcome<unknown> {
    let verdict: Verdict = 'failure'
    try {
      const asksForPause = retryAfterMs > 0 || noRetry
      verdict = this.classify?.(true, answer, call) ?? verdictOfStatus(this.wire.status(answer), asksForPause)
    } catch {
      // A classifier that throws must not lose the call.
    }
    return answered(answer, verdict, retryAfterMs, verdict !== 'success' && (noRetry || this.isGone(call)))
  }

  /** It cannot be sent again: its body was read. For those further out that is no word of the target's. */
  private isGone(call: Call): boolean {
    if (this.wire.whole()) return false
    operationOf(call).bodyGone = true
    return true
  }

  private get classify(): Classify | undefined {
    return this.options.init.classify ?? this.options.classify
  }
}

/** The answer; throws the work's own error, or that of the refusal. */
export function valueOf<T>(outcome: Outcome<T>): T {
  if (outcome.ok) return outcome.value
  throw outcome.rejection === undefined ? outcome.error : rejectedError(outcome.rejection)
}

/** `controller` is aborted when `signal` is, with the same reason; returns the untying. */
function tie(signal: AbortSignal, controller: AbortController): () => void {
  const onAbort = () => controller.abort(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return () => signal.removeEventListener('abort', onAbort)
}
