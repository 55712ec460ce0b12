import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { GivenUp } from './failures.ts'

// The body of a request on its way up.
//
// Not the IncomingMessage itself: who aborts an upstream request destroys its body, and with an IncomingMessage that is the client's
// connection, on which the answer is still to be written. And nothing is read before somebody wants it, so that a refused request costs no
// upload and a connection that was refused leaves the body whole for the next upstream.

/** Hears whose turn it is, the client's or the upstream's, each time that it changes. */
export interface TurnListener {
  turn(clients: boolean): void
}

export class RequestBody extends Readable {
  private wanting = false
  private readonly request: IncomingMessage
  private readonly response: ServerResponse
  private readonly listener: TurnListener
  private attached = false

  constructor(request: IncomingMessage, response: ServerResponse, listener: TurnListener) {
    super()
    this.listener = listener
    this.request = request
    this.response = response
    // Whoever reads it hears of its end otherwise, too; and when nobody does any more, an error is no news.
    this.on('error', () => {})
  }

  /** The upstream wants more, and the client has not sent it. */
  get thirsty(): boolean {
    return this.wanting
  }

  override _read(): void {
    this.want(true)
    if (!this.attached) this.attach()
    this.request.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.want(false)
    if (this.attached) {
      this.request.off('data', this.onData).off('end', this.onEnd).off('close', this.onClose)
      this.request.pause()
    }
    callback(error)
  }

  private attach(): void {
    this.attached = true
    const { request, response } = this
    // Who asked before he sends is told to go on only now: a gate that refuses saves him the upload.
    if (request.headers.expect !== undefined && !response.headersSent) response.writeContinue()
    request.on('data', this.onData).on('end', this.onEnd).on('close', this.onClose)
  }

  private want(more: boolean): void {
    if (this.wanting === more) return
    this.wanting = more
    this.listener.turn(more)
  }

  private readonly onData = (chunk: Buffer): void => {
    if (this.push(chunk)) return
    this.want(false)
    this.request.pause()
  }

  private readonly onEnd = (): void => {
    this.want(false)
    this.push(null)
  }

  private readonly onClose = (): void => {
    if (!this.request.complete) this.destroy(new GivenUp('the client left in the middle of its request'))
  }
}
