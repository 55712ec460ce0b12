import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { BodyReader } from './body-reader.ts'
import type { Exchange } from './exchange.ts'
import { tooLong } from './failures.ts'
import { tellToGoOn } from './go-on.ts'
import { HeldTime } from './held-time.ts'
import type { KeptBytes } from './kept-bytes.ts'
import type { Clocks } from './patience.ts'
import { UploadHold, type UploadTaker } from './upload-hold.ts'

// The body of a request on its way up.
//
// It is collected before a server is asked: a small one until it is whole, a large one until the route's bound is reached. So a client who
// trickles holds no connection of a server's, and no slot; and what is whole can be sent again, to another server, as it is. What is larger
// is streamed from there on: what a server has taken of it is gone.
//
// Servers are never given the IncomingMessage itself: who aborts an upstream request destroys its body, and with an IncomingMessage that is
// the client's connection, on which the answer is still to be written.

export interface BodyLimits {
  /** So much may come. */
  readonly most: number
  /** So much of it is kept. */
  readonly keep: number
  /** ... and so much of all bodies. */
  readonly keepOfAll: number
}

/** Smaller pieces are put together: who sends single bytes shall not take more memory than he sends. */
const SMALL = 256
const JOINED = 4096
/** What a server that reads 10 MB a second has behind it in a quarter of the shortest time that it has to answer. */
const TAIL_BYTES = 256 * 1024

const empty = Buffer.alloc(0)

export class RequestBody implements UploadTaker {
  /** Nothing more comes. */
  ended = false
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly exchange: Exchange
  private readonly limits: BodyLimits
  /** Where its bytes are counted: apart, as long as its route may hold it back. */
  private kept: KeptBytes
  private readonly clocks: Clocks
  private pieces: Buffer[] = []
  private taken = 0
  /** Bytes that have come. */
  length = 0
  /** No more is kept. */
  private full: boolean
  /** A server has got some of it, which is gone. */
  private started = false
  private attached = false
  private gone = false
  private wanting = false
  /** Its route holds it back: the clocks stand still. */
  private standing = false
  private readonly hold: UploadHold | null
  /** For how long its route has held it back, or its answer. */
  readonly heldTime: HeldTime = new HeldTime()
  private waiter: (() => void) | null = null
  private reader: BodyReader | null = null

  constructor(exchange: Exchange, limits: BodyLimits, clocks: Clocks) {
    this.exchange = exchange
    this.request = exchange.request
    this.response = exchange.response
    this.limits = limits
    this.clocks = clocks
    this.full = limits.keep === 0
    const flow = exchange.route.bandwidth?.upload(exchange)
    this.hold = flow === undefined ? null : new UploadHold(flow, this, this.heldTime)
    this.kept = flow === undefined ? exchange.proxy.kept : exchange.proxy.kept.held
  }

  /** Its route holds it back: not all of what the client has sent may have passed. */
  get held(): boolean {
    return this.hold !== null && !this.ended
  }

  /** Somebody waits for what the client has not sent. */
  get thirsty(): boolean {
    return this.wanting
  }

  /** Collected as far as it will be. */
  get ready(): boolean {
    return this.ended || this.full
  }

  /** All of it is here and is sent as it is: nothing of it is streamed. */
  get whole(): boolean {
    return this.ended && !this.started
  }

  /** All of it is here, and stays until {@link release}. */
  get repeatable(): boolean {
    return this.ended && !this.full && !this.started
  }

  /** The head is here: calls `ready` when the body is collected. */
  arrive(bytes: number, ready: () => void): void {
    // Most come with the head, and are told of right behind it.
    process.nextTick(() => {
      if (this.gone) return
      if (!this.seize(bytes)) return this.collect(ready)
      if (this.hold === null) return ready()
      this.waiter = ready
      this.hold.settle(bytes, () => this.finish())
    })
  }

  /** Takes it when all `bytes` of it are here: then nothing has to be listened to. */
  private seize(bytes: number): boolean {
    const { request } = this
    if (request.readableLength !== bytes || bytes > this.limits.keep || !this.takePlace(bytes)) return false
    this.pieces = [request.read() as Buffer]
    this.ended = true
    // For its end to be heard by node:http, which waits for it before the next request.
    request.resume()
    return true
  }

  /** It is not held back any more: where there is no place among the others it is sent once, and stays counted where it was. */
  private keep(): void {
    const { kept } = this.exchange.proxy
    this.full = !kept.take(this.taken, this.limits.keepOfAll)
    if (this.full) return
    this.kept.give(this.taken)
    this.kept = kept
  }

  private takePlace(bytes: number): boolean {
    if (!this.kept.take(bytes, this.limits.keepOfAll)) return false
    this.taken += bytes
    return true
  }

  /** Calls `ready` when it is collected. */
  collect(ready: () => void): void {
    if (this.ready) return ready()
    this.waiter = ready
    this.drink()
  }

  /** For one try: all of it, or a stream of it. */
  content(): Buffer | Readable {
    if (!this.ended || this.started) {
      this.reader = new BodyReader(this)
      return this.reader
    }
    if (this.pieces.length > 1) this.pieces = [Buffer.concat(this.pieces)]
    return this.pieces[0] ?? empty
  }

  /** Nobody will try again: what is whole is not needed any more. */
  release(): void {
    if (!this.started && this.ended) this.drop()
  }

  /** Nobody wants it any more. */
  destroy(): void {
    this.gone = true
    this.waiter = null
    this.want(false)
    this.detach()
    this.drop()
    this.hold?.close()
    this.reader?.destroy()
  }

  /** @internal The server wants more. */
  pull(reader: BodyReader): void {
    if (reader !== this.reader) return
    this.started = true
    for (let piece = this.pieces.shift(); piece !== undefined; piece = this.pieces.shift()) {
      this.giveBack(piece.length)
      if (!reader.push(piece)) return this.clocks.turn('intake')
    }
    if (!this.ended) return this.drink()
    this.clocks.turn('intake')
    reader.push(null)
  }

  /** @internal The server wants no more. */
  left(reader: BodyReader): void {
    if (reader !== this.reader) return
    this.reader = null
    this.want(false)
    this.detach()
    // All of it was handed over, or nobody wants the rest. Of a long one the tail is still on its way: buffers of the system hold megabytes.
    if (this.started) this.clocks.turn(this.length > TAIL_BYTES ? 'intake' : 'answer')
  }

  /** @internal */
  drink(): void {
    if (this.hold?.goOn() === true) return
    this.want(true)
    if (!this.attached) this.attach()
    this.request.resume()
  }

  private attach(): void {
    this.attached = true
    const { request, response } = this
    // Who asked before he sends is told to go on only now: a gate that refuses saves him the upload.
    // Not in HTTP/1.0, which knows no interim answers (RFC 9110, 10.1.1).
    if (request.headers.expect !== undefined && request.httpVersionMinor !== 0) tellToGoOn(response)
    request.on('data', this.onData).on('end', this.onEnd)
  }

  private detach(): void {
    if (!this.attached) return
    this.attached = false
    this.request.off('data', this.onData).off('end', this.onEnd)
    this.request.pause()
  }

  private want(more: boolean): void {
    if (this.wanting === more && !this.standing) return
    this.wanting = more
    this.standing = false
    this.clocks.turn(more ? 'client' : this.started ? 'intake' : 'answer')
  }

  private readonly onData = (piece: Buffer): void => {
    this.length += piece.length
    if (this.length > this.limits.most) return this.exchange.giveUp(tooLong)
    if (this.hold === null) this.accept(piece)
    else this.hold.take(piece)
  }

  /** @internal */
  stand(): void {
    this.request.pause()
    this.wanting = false
    this.standing = true
    this.clocks.turn('client')
  }

  /** @internal */
  accept(piece: Buffer): boolean {
    if (this.started) {
      if (this.reader?.push(piece) === true) return true
      this.want(false)
      this.request.pause()
      return false
    }
    this.add(piece)
    if (this.length <= this.limits.keep && this.takePlace(piece.length)) return true
    this.full = true
    this.request.pause()
    this.go()
    return false
  }

  private add(piece: Buffer): void {
    const { pieces } = this
    const last = pieces.length - 1
    const before = pieces[last]
    if (before === undefined || piece.length >= SMALL || before.length >= JOINED) pieces.push(piece)
    else pieces[last] = Buffer.concat([before, piece])
  }

  private readonly onEnd = (): void => {
    if (this.hold === null || this.hold.end()) this.finish()
  }

  /** @internal */
  finish(): void {
    this.ended = true
    this.hold?.close()
    if (this.hold !== null && !this.full) this.keep()
    if (this.started) {
      this.want(false)
      this.reader?.push(null)
    } else this.go()
  }

  private go(): void {
    this.want(false)
    const { waiter } = this
    this.waiter = null
    waiter?.()
  }

  private giveBack(bytes: number): void {
    const given = Math.min(bytes, this.taken)
    this.taken -= given
    this.kept.give(given)
  }

  private drop(): void {
    this.pieces = []
    this.giveBack(this.taken)
  }
}
