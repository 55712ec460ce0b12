import type { IncomingMessage, ServerResponse } from 'node:http'

// What does a handler say, and when has it said all of it?
//
// Node writes every head through `writeHead`, the implicit ones as well, and ends every answer by `end`. Both are listened to on their way. The two
// functions are the same for all responses, and what they tell hangs on the response: a closure for each would be made anew for every request.
//
// An answer that was said in one, and all of which the kernel has taken when `end` returns, is over: nothing is waited for. Any other is over with `close`,
// and not with `finish`, since a client that leaves lets no response finish.
//
// Invariant: a response does what it would have done, and what it throws is thrown.

type Method = (...args: unknown[]) => ServerResponse

const BY: unique symbol = Symbol('floodwall.answering') as never
const INNERMOST: unique symbol = Symbol('floodwall.innermost') as never

interface Heard {
  /** Who came first; most are alone. */
  [BY]?: Answering
  /** The last of several. */
  [INNERMOST]?: Answering
  writeHead: Method
  end: Method
}

/** It is a stream of a connection that carries others, too (HTTP/2). */
export function isStream({ httpVersionMajor }: IncomingMessage): boolean {
  return httpVersionMajor > 1
}

/** One response, and who writes it. */
export abstract class Answering {
  protected readonly request: IncomingMessage
  protected readonly response: ServerResponse
  protected answeredBy: 'nobody' | 'handler' | 'us' = 'nobody'
  /** What the handler's head says; what is written into the field later is not sent. */
  protected status = 0
  /** The handler says its whole answer, right now. */
  private isEnding = false
  /** It runs, right now, up to its first `await`. */
  private isBegun = false
  /** It has written a head, and may end its answer in the same breath. */
  private isHeadAlone = false
  private listens = false
  /** The edge around this one. */
  private outer: Answering | null = null
  /** The response's own methods, as they were. */
  private ownHead: Method | null = null
  private ownEnd: Method | null = null

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }

  /** Who writes the answer is about to write its head. */
  protected abstract beforeHead(status: unknown): void
  /** The handler has written its head, and the rest is still to come. */
  protected abstract headIsOut(): void
  /** The handler has answered, and all of it has gone. */
  protected abstract allIsOut(): void
  /** The response is over, whole or cut off. */
  abstract lost(): void

  /** All has been said, and has gone. `writableFinished` alone is said a tick later since Node 22, and of a stream of HTTP/2 that was reset although nobody has ended it. */
  protected get hasGone(): boolean {
    const { request, response } = this
    if (!response.writableEnded) return false
    return response.writableFinished || (!isStream(request) && response.writableLength === 0)
  }

  /** Nothing more comes. A stream of HTTP/2 tells of its end in any case. */
  get isOver(): boolean {
    return !isStream(this.request) && (this.hasGone || this.response.destroyed)
  }

  /** The response will say when it is over. */
  protected listen(): void {
    if (this.listens) return
    this.listens = true
    this.response.on('close', () => this.lost())
  }

  /** Everything has been said: when it has gone too, it is over. */
  protected lostOrListen(): void {
    if (this.isOver) this.lost()
    else this.listen()
  }

  /** From here on everything that is said is heard. */
  protected overhear(): void {
    const heard = this.response as unknown as Heard
    this.ownHead = heard.writeHead
    this.ownEnd = heard.end
    // An edge within another one: what it hears goes on to the outer one.
    this.outer = heard[INNERMOST] ?? heard[BY] ?? null
    const isInner = this.outer !== null
    heard[isInner ? INNERMOST : BY] = this
    heard.writeHead = isInner ? (...args) => this.throughHead(args[0], args[1], args[2]) : writeHead
    // A stream is over when it says so, and not when it was told to end.
    if (!isStream(this.request)) heard.end = isInner ? (...args) => this.throughEnd(args[0], args[1], args[2]) : end
  }

  /** @internal */
  throughHead(status: unknown, reason: unknown, headers: unknown): ServerResponse {
    this.beforeHead(status)
    const { response } = this
    const result = (this.ownHead as Method).call(response, status, reason, headers)
    if (this.answeredBy === 'nobody') {
      this.answeredBy = 'handler'
      this.status = response.statusCode
      if (!this.isEnding) this.wait()
    }
    return result
  }

  /** Most write a head and end in the next line: to keep a place for what is over at once would cost more than to look a moment later. */
  private wait(): void {
    this.isHeadAlone = true
    if (this.isBegun) return
    queueMicrotask(() => {
      this.goOn()
      // Ended past our method: Node tells of the end before it runs microtasks.
      if (this.isOver) this.lost()
    })
  }

  /** Nothing came with the head, or not all. */
  protected goOn(): void {
    if (!this.isHeadAlone) return
    this.isHeadAlone = false
    this.headIsOut()
  }

  /** The handler is about to run; {@link paused} when it has returned. */
  protected begun(): void {
    this.isBegun = true
  }

  protected paused(): void {
    this.isBegun = false
    this.goOn()
  }

  /** @internal */
  throughEnd(chunk: unknown, encoding: unknown, callback: unknown): ServerResponse {
    const own = this.ownEnd as Method
    if (this.answeredBy !== 'nobody' && !this.isHeadAlone) return own.call(this.response, chunk, encoding, callback)
    this.isEnding = true
    let result: ServerResponse
    try {
      result = own.call(this.response, chunk, encoding, callback)
    } catch (error) {
      this.isEnding = false
      // Its head may be out all the same.
      if (this.answeredBy === 'handler') this.wait()
      throw error
    }
    this.isEnding = false
    this.hasEnded()
    return result
  }

  /** An edge around this one has answered: the handler in here goes on. */
  private isOuters(): boolean {
    for (let { outer } = this as Answering; outer !== null; outer = outer.outer)
      if (outer.answeredBy === 'us') return true
    return false
  }

  private hasEnded(): void {
    // Else somebody in between keeps it back, who compresses it, say.
    if (this.answeredBy !== 'handler') return
    this.isHeadAlone = false
    if (this.isOver && !this.isOuters()) this.allIsOut()
    else this.headIsOut()
  }
}

function writeHead(this: Heard, status: unknown, reason?: unknown, headers?: unknown): ServerResponse {
  return (this[BY] as Answering).throughHead(status, reason, headers)
}

function end(this: Heard, chunk?: unknown, encoding?: unknown, callback?: unknown): ServerResponse {
  return (this[BY] as Answering).throughEnd(chunk, encoding, callback)
}
