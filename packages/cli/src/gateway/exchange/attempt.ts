import type { IncomingHttpHeaders } from 'node:http'
import { answered, type Call, failed, type Outcome, refused, type Verdict } from 'floodwall'
import { verdictOfStatus } from 'floodwall/wire'
import type { Dispatcher } from 'undici'
import { bodiless, isFramed, linesIn, ResponseHead } from '../heads/response-head.ts'
import type { Connection } from '../upstreams/connection.ts'
import type { Rider } from '../upstreams/connections.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import type { Exchange } from './exchange.ts'
import { BadAnswer, broken, causeOf, GivenUp, notValid, verdictOfCause } from './failures.ts'
import { tooLate } from './margin.ts'
import { wishOf } from './wish.ts'

// One request to one upstream: what undici calls back, and what the pipeline is told.
//
// The pipeline decides over heads: an answer may be passed on, or lose to a retry. Until it is decided nothing reaches the client. Most
// answers are small and arrive whole in one turn of the event loop: those are complete before anybody decides, and leave in one write. Of
// others the head is told at the end of the turn, with the body on hold.

/** How much of an undecided body is kept before the upstream is told to wait. An answer that loses is mostly smaller and ends by itself. */
const HELD_MOST = 64 * 1024

/** Sent, or waiting for a connection. */
const ASKED = 0
/** The head is here, the turn is not over. */
const HEAD = 1
/** The pipeline knows; it may still prefer another answer. */
const ANSWERED = 2
/** This is the answer that the client gets. */
const RELAYED = 3
const OVER = 4

const badAnswer = new BadAnswer('the answer is not one that can be passed on')
const nothing: IncomingHttpHeaders = Object.freeze({})
const unwanted = new GivenUp('another answer was chosen, or nobody waits for one')

export class Attempt implements Rider {
  readonly call: Call
  /** The one before, of the same exchange. */
  readonly earlier: Attempt | null
  /** @internal The connection that it has. */
  connection: Connection | null = null
  protected readonly exchange: Exchange
  readonly upstream: Upstream
  private readonly done: (outcome: Outcome<unknown>) => void
  private controller: Dispatcher.DispatchController | null = null
  private state = ASKED
  private status = 0
  private headers: IncomingHttpHeaders = nothing
  private trailers: IncomingHttpHeaders | null = null
  private verdict: Verdict = 'success'
  private release: ((verdict: Verdict) => void) | null = null
  private whole = false
  private broken = false
  private first: Buffer | null = null
  private more: Buffer[] | null = null
  private heldBytes = 0
  private blocked = false

  constructor(exchange: Exchange, call: Call, upstream: Upstream, done: (outcome: Outcome<unknown>) => void) {
    this.exchange = exchange
    this.earlier = exchange.latest
    this.call = call
    this.upstream = upstream
    this.done = done
  }

  // What undici calls.

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller
    this.exchange.clocks?.sent(this.call)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // Interim answers say nothing about the outcome. But nobody has asked for another protocol.
    if (status < 200 && status >= 100 && status !== 101) return
    // undici ends the connection when we throw, and tells onResponseError.
    if (status < 200 || !isFramed(headers) || linesIn(controller.rawHeaders) > this.upstream.mostHeaderLines)
      throw badAnswer
    this.status = status
    this.headers = headers
    this.state = HEAD
    if (bodiless(status) || this.exchange.isHead) this.complete()
    else process.nextTick(turnOver, this)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.state === RELAYED) return this.write(chunk)
    if (this.state === OVER) return
    if (this.first === null) this.first = chunk
    else if (this.more === null) this.more = [chunk]
    else this.more.push(chunk)
    this.heldBytes += chunk.length
    if (this.state === ANSWERED && this.heldBytes > HELD_MOST) controller.pause()
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    // A body that ends with its connection: undici takes whatever breaks it for the end.
    const fault = this.whole ? null : this.connection?.cutOff(this.headers)
    if (fault != null) return this.onResponseError(controller, fault)
    this.upstream.free(this)
    for (const _name in trailers) this.trailers = trailers
    if (this.state === HEAD) return this.complete()
    if (this.state === RELAYED) {
      this.state = OVER
      this.exchange.outlet.end(null, this.trailers)
    }
    this.whole = true
    this.settle(this.verdict)
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const { state } = this
    const cause = causeOf(error)
    if (state === ASKED && cause === 'reset' && this.isStale) return this.redo()
    this.upstream.broke(this)
    if (state === OVER) return
    this.upstream.failed(cause)
    if (state === ASKED || state === HEAD) return this.fail(error)
    this.broken = true
    this.forget()
    if (state === RELAYED) {
      this.state = OVER
      this.exchange.breakOff(cause)
    }
    this.settle(verdictOfCause(cause))
  }

  // What the exchange asks for.

  /** The client gets this one: the head now, the body as it comes. */
  relay(): void {
    const { exchange } = this
    if (this.broken) return exchange.answer(broken)
    const { lines, hasLength } = new ResponseHead(this.status, this.headers, exchange.peer.trusted)
    // The length is known although the upstream did not say it: then HTTP/1.0 clients can see the end, too.
    if (this.whole && !hasLength && this.trailers === null && !bodiless(this.status) && !exchange.isHead) {
      lines.push('Content-Length', String(this.heldBytes))
    }
    exchange.route.editAnswer(lines, exchange.head)
    if (!exchange.writeHead(this.status, lines, this.whole)) {
      this.upstream.failed('invalid')
      this.drop('failure')
      return exchange.answer(notValid)
    }
    if (this.whole) {
      this.state = OVER
      const { first, more, trailers } = this
      this.forget()
      exchange.outlet.end(more === null ? first : Buffer.concat([first as Buffer, ...more]), trailers)
      return
    }
    this.state = RELAYED
    if (this.first === null) exchange.response.flushHeaders()
    else {
      const { first, more } = this
      this.forget()
      this.write(first)
      if (more !== null) for (const chunk of more) this.write(chunk)
    }
    // Not from here: this may be called by another parser of undici, and they do not nest.
    if (this.heldBytes > HELD_MOST && !this.blocked) process.nextTick(goOn, this)
  }

  /** Nobody will want this one: another answer was chosen, or there is no client any more. */
  drop(verdict: Verdict = this.verdict): void {
    const { state } = this
    this.forget()
    if (state === ASKED || state === HEAD) return this.abort(unwanted)
    this.state = OVER
    if (!this.whole && !this.broken) this.upstream.cut(this, unwanted)
    this.settle(verdict)
  }

  /** The call was cancelled: what the upstream still does, it does for nobody. */
  abort(reason: Error): void {
    if (this.state === OVER) return
    // First: undici may tell of the end while we are still ending it.
    this.state = OVER
    this.upstream.cut(this, reason)
    this.upstream.failed(causeOf(reason))
    this.fail(reason)
  }

  /** The client reads again. */
  unblock(): void {
    this.blocked = false
    this.goOn()
  }

  /** The exchange is over, and so is this. */
  letGo(): void {
    this.controller = null
    this.headers = nothing
  }

  /** Lets the upstream go on where it was told to wait for the decision. */
  goOn(): void {
    if (this.state === RELAYED && !this.blocked) this.controller?.resume()
  }

  /** The turn is over in which the head came. */
  tell(): void {
    if (this.state !== HEAD) return
    this.release = this.call.hold(Number.POSITIVE_INFINITY) // A stream has its idle limit.
    this.answer()
  }

  /** @internal True when the time went by while it waited for the client's body: then it is over. */
  isLate(): boolean {
    const late = tooLate(this.call)
    if (late === undefined) return false
    this.state = OVER
    this.upstream.ended()
    this.done(refused(late))
    return true
  }

  /** @internal Nobody waits for anything of it. */
  get isOver(): boolean {
    return this.state === OVER
  }

  /**
   * A kept connection that broke before a word of an answer: the server had closed it when the request came. That is in the nature of kept
   * connections and no failure of the server's, but nobody knows whether it has seen the request (RFC 9112, 9.3.1).
   */
  private get isStale(): boolean {
    const { connection } = this
    if (connection === null || connection.served === 0 || connection.heard) return false
    return this.exchange.repeatable && tooLate(this.call) === undefined
  }

  private redo(): void {
    this.controller = null
    this.exchange.send(this, true)
  }

  /** The server has changed the protocol: what there is of an answer is here, and the call is held for what follows. */
  protected tunnelled(): void {
    this.status = 101
    this.state = HEAD
    this.tell()
  }

  /** All of the answer is here. The head alone may be: whatever it says of a length, and whatever undici makes of that. */
  private complete(): void {
    this.whole = true
    this.upstream.ended()
    this.answer()
  }

  private answer(): void {
    this.state = ANSWERED
    const { status, first } = this
    if (status < 400) return this.done(answered(this))
    const body = first === null || !this.whole ? null : [first, ...(this.more ?? [])]
    // The server's own word: it knows better than our budget.
    const { retryAfterMs, noRetry } = wishOf(this.headers, body)
    this.verdict = verdictOfStatus(status, retryAfterMs > 0 || noRetry)
    this.done(answered(this, this.verdict, retryAfterMs, noRetry && this.verdict !== 'success'))
  }

  protected fail(error: Error): void {
    this.state = OVER
    this.forget()
    this.upstream.ended()
    // Before undici writes the first byte it calls onRequestStart: without it nothing was sent, and any method may be sent elsewhere.
    this.done(failed(error, verdictOfCause(causeOf(error)), this.controller !== null))
  }

  private write(chunk: Buffer): void {
    if (this.exchange.outlet.write(chunk) || this.blocked) return
    this.blocked = true
    this.controller?.pause()
  }

  /** The body has ended, one way or another: gives back what the call held. */
  protected settle(verdict: Verdict): void {
    const { release } = this
    if (release === null) return
    this.release = null
    this.upstream.ended()
    release(verdict)
  }

  private forget(): void {
    this.first = null
    this.more = null
  }
}

function goOn(attempt: Attempt): void {
  attempt.goOn()
}

function turnOver(attempt: Attempt): void {
  attempt.tell()
}
