import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Call } from '../core/call.ts'
import { forgetMadeGood } from '../core/exhausted.ts'
import { type Init, NOTHING } from '../core/init.ts'
import { finishTask, isThenable, judge } from '../core/leaf.ts'
import { answered, failed, type Outcome } from '../core/outcome.ts'
import type { Pipeline } from '../core/pipeline.ts'
import type { Task } from '../core/step.ts'
import type { ErrorAnswer } from '../wire/error-body.ts'
import { names } from '../wire/names.ts'
import type { Abandoned } from './abandoned.ts'
import { Answering, isStream } from './answering.ts'
import { writeAnswer } from './answers.ts'
import { type Admitted, admit } from './call-of.ts'
import { carry } from './carry.ts'
import { clientLeft, isEcho } from './client-left.ts'
import type { Connection, Waiting } from './connections.ts'
import { silence } from './silence.ts'
import { isFault, verdictOf } from './status.ts'

// One request, from its head to the end of its answer.
//
// The head of the answer is the outcome: its status is the verdict, and no deadline cuts it off any more. The end of the response is the end
// of the work, which has its slot until then: an answer that was said in one and has gone to the kernel whole is over; else it is over with
// `close`, and not `finish`, since a client that leaves lets no response finish. Where the client has left and the handler goes on, its own end
// is: its promise has settled, or it ends an answer that goes nowhere.
//
// Invariant: the handler runs at most once; its work ends exactly once; the client is answered by one of the two, it or us; and then `over`
// is called, once.

/** How a framework goes on with a request. */
export interface Handling {
  /** Goes on to the handler; a promise, where there is one, says when it has ended. What it throws is the handler's. */
  proceed(call: Call): unknown
  /** Says no, before the handler has run. Default: written to the response. */
  refuse?(answer: ErrorAnswer): void
  /** The handler threw: answers, and tells whom it concerns. Default: there was no answer. */
  threw?(error: unknown, call: Call): void
  /** The response is over, and the work. */
  over?(): void
}

/** Where a request comes in. */
export interface Door {
  readonly abandoned: Abandoned
  /** Monotonic milliseconds, as of the last reading of this turn. */
  now(): number
  answerOf(outcome: Outcome<unknown>, call: Call | null, init: Init): ErrorAnswer
  /** Before the head of an answer: what its caller has left of its limits. */
  tellLimits(response: ServerResponse, call: Call, status: unknown): void
  /** What trusted callers are told of the admission level; undefined: nothing. */
  levelText(): string | undefined
  /** The answer to a request that is refused unread, as its connection allows. */
  unread(request: IncomingMessage, answer: ErrorAnswer): ErrorAnswer
  /** The visit is over. */
  left(): void
}

export class Visit extends Answering implements Waiting, Task, Admitted {
  /** The attempt in which the handler runs. */
  call: Call | null = null
  /** What the handler failed with, although a status is all that is written of it. */
  failure: { readonly error: unknown } | null = null
  private readonly door: Door
  private readonly connection: Connection
  private readonly handling: Handling
  private pipeline: Pipeline | null = null
  private init: Init = NOTHING
  /** As it was begun: a cancel of it comes to whatever waits. */
  private root: Call | null = null
  /** The work has not ended yet, nor has the head of its answer been sent. */
  private working = false
  /** The body of the answer has the slot. */
  private holds = false
  /** What the handler gave us to tell when it has ended. */
  private promise: 'none' | 'pending' | 'settled' = 'none'
  private thrown: { readonly error: unknown } | null = null
  /** Nobody waits for the handler, which goes on: to be called when it has ended. */
  private letGo: (() => void) | null = null
  private closed = false
  private over = false

  constructor(door: Door, request: IncomingMessage, response: ServerResponse, at: Connection, handling: Handling) {
    super(request, response)
    this.door = door
    this.connection = at
    this.handling = handling
    at.add(this)
    // The connection outlives its streams, and says nothing of them; what stands in for one in tests says nothing at all.
    if (isStream(request) || !(request.socket instanceof Socket)) this.listen()
  }

  /** It was refused before its handler ran. */
  get refused(): boolean {
    return this.answeredBy === 'us' && this.call === null
  }

  begin(pipeline: Pipeline, init: Init): void {
    this.init = init
    this.pipeline = pipeline
    this.root = pipeline.enter(this, init)
    // It waits, and meanwhile somebody further out may answer it.
    if (this.call === null && this.answeredBy === 'nobody') this.listen()
  }

  /** Says no, whoever asks. */
  refuse(no: ErrorAnswer): void {
    this.answeredBy = 'us'
    const answer = this.door.unread(this.request, no)
    this.tellLevel()
    if (this.handling.refuse === undefined) writeAnswer(this.response, answer)
    else this.handling.refuse(answer)
    this.lostOrListen()
  }

  private tellLevel(): void {
    const { response } = this
    if (!this.connection.trusted || response.headersSent) return
    const level = this.door.levelText()
    if (level !== undefined) response.setHeader(names.level, level)
  }

  /** @internal */
  run(call: Call): void {
    // Somebody repeats or races: a request is read once and answered once. Or it is over already.
    if (this.call !== null || this.closed)
      return finishTask(call, failed(new Error('a request is handled once'), 'ignored', false, 0, true))
    this.call = call
    this.working = true
    admit(this.request, this)
    this.overhear()
    const { ambient } = call.host
    if (ambient.on !== null) carry(this.request, call, ambient)
    let result: unknown
    this.begun()
    try {
      result = this.handling.proceed(call)
    } catch (error) {
      this.paused()
      return this.threw(error)
    }
    this.paused()
    if (!isThenable(result)) return
    this.promise = 'pending'
    result.then(
      () => this.fulfilled(),
      (error: unknown) => this.rejected(error),
    )
  }

  protected override beforeHead(status: unknown): void {
    const call = this.call as Call
    this.tellLevel()
    this.door.tellLimits(this.response, call, status)
    if (this.answeredBy === 'nobody') this.tellSpent(call, status)
  }

  protected override allIsOut(): void {
    // Now: others may get their turn, and compute.
    const at = this.door.now()
    try {
      if (this.working) this.end(this.outcomeOfHead())
    } finally {
      this.lost()
      this.connection.answeredAt = at
    }
  }

  /**
   * Retries on behalf of this request were given up, and now its handler says that it could not do it: in whatever words it passes that on, its
   * caller is not to try again either. What it made good (a default, an older copy) is no error, and says nothing;
   * nor does an error of its own that it let go. Where it writes such a status itself nobody knows what of, and it counts as that.
   */
  private tellSpent(call: Call, status: unknown): void {
    const { response } = this
    if (!isFault(Number(status)) || call.extra.exhausted === null || response.headersSent) return
    response.setHeader(names.retry, 'no')
  }

  protected override headIsOut(): void {
    this.listen()
    if (!this.working) return
    this.holds = true
    // Before the outcome: the slot goes to the body, and is not free in between.
    this.call?.begin()
    this.end(this.outcomeOfHead())
  }

  /** What the handler failed with says more than what was made of it: a refusal further in is no overload here. */
  private outcomeOfHead(): Outcome<unknown> {
    const { failure, call, status } = this
    if (failure !== null) return judge(call as Call, false, failure.error)
    return answered(undefined, verdictOf(status), 0, true)
  }

  /** The handler says that it has ended: that matters when it was not waited for. Its answer may still be to come, through a callback. */
  private ended(): void {
    if (this.letGo !== null) this.end(failed(undefined, 'ignored'))
  }

  /** So has its promise: what is still to come, comes through a callback, and nobody will say when that has ended. */
  private fulfilled(): void {
    this.promise = 'settled'
    this.ended()
  }

  private rejected(error: unknown): void {
    this.promise = 'settled'
    this.threw(error)
  }

  private threw(error: unknown): void {
    const call = this.call as Call
    if (this.working && this.answeredBy === 'nobody') {
      this.thrown = { error }
      forgetMadeGood(call, error)
      return this.end(judge(call, false, error))
    }
    // An echo: it was told to stop, and stopped.
    if (!isEcho(call, error)) this.handling.threw?.(error, call)
    this.ended()
  }

  /** The work has ended, or the head of its answer is sent. */
  private end(outcome: Outcome<unknown>): void {
    const { working, letGo } = this
    this.working = false
    this.letGo = null
    letGo?.()
    if (working) finishTask(this.call as Call, outcome)
    if (!this.closed) return
    if (this.holds) this.call?.end(undefined)
    this.holds = false
    this.leave()
  }

  /** @internal */
  succeed(value: unknown): void {
    this.settle(answered(value))
  }

  /** @internal What became of the call, once. */
  settle(outcome: Outcome<unknown>): void {
    this.pipeline?.count(outcome)
    if (this.answeredBy !== 'nobody' || this.closed) return
    const { call, thrown } = this
    if (call !== null && thrown !== null && this.handling.threw !== undefined) {
      return this.handling.threw(thrown.error, call)
    }
    const answer = this.door.answerOf(outcome, call, this.init)
    if (call === null) return this.refuse(answer)
    this.answeredBy = 'us'
    writeAnswer(this.response, answer)
    if (this.working) {
      const ended = () => this.ended()
      this.letGo = this.door.abandoned.byTime(call.host.env, ended)
      silence(this.response, ended)
    }
    this.lostOrListen()
  }

  /** The response is over, whole or cut off, or the connection is. */
  override lost(): void {
    if (this.closed) return
    this.goOn()
    this.closed = true
    this.connection.delete(this)
    this.connection.answeredAt = this.door.now()
    if (this.answeredBy !== 'us' && (this.call === null || !this.hasGone)) this.cutOff()
    if (this.letGo === null) this.end(failed(undefined, 'ignored'))
    // Its client heard the head, and nobody hears the rest: what the handler still says is for nobody.
    else if (this.holds) this.leave()
  }

  /** Its client has gone, and it goes on, as most handlers do: it has its slot until it ends. */
  private cutOff(): void {
    const { call, holds } = this
    const promised = this.promise === 'pending'
    // What streams and has promised nothing mostly listens to its connection, and ends nothing. What had promised to end, has.
    const goesOn = promised ? holds || this.working : this.promise === 'none' && this.working
    if (call !== null && goesOn) {
      this.answeredBy = 'us'
      // First, since it may end while it hears that it is to stop.
      const ended = () => this.ended()
      this.letGo = this.door.abandoned.byClient(call.host.env, promised, ended)
      if (!holds) silence(this.response, ended)
    }
    this.root?.cancel(clientLeft(), 'ignored')
  }

  private leave(): void {
    if (this.over) return
    this.over = true
    this.door.left()
    this.handling.over?.()
  }
}
