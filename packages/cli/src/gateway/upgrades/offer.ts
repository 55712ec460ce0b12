import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Tunnel } from './tunnel.ts'

// A client that offers to change the protocol. node:http has handed its connection over: there is no parser on it any more, and nobody but us
// hears of its errors. When the offer is not taken, the client gets an ordinary answer, and the connection ends with it.

/** Clients should wait for the answer; what they send before it is kept, but not all of it. */
const EARLY_BYTES = 16_384

export class Offer {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Lower case: `websocket`. */
  readonly protocol: string
  /** When it was taken. */
  tunnel: Tunnel | null = null
  private readonly socket: Socket
  private readonly early: Buffer[] = []
  private earlyBytes = 0

  /** `head`: what came behind the request. */
  constructor(request: IncomingMessage, socket: Socket, head: Buffer, protocol: string) {
    this.request = request
    this.socket = socket
    this.protocol = protocol
    socket.setTimeout(0)
    socket.on('error', () => {})
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    socket.on('drain', this.onDrain)
    response.on('finish', () => {
      response.detachSocket(socket)
      socket.destroySoon()
    })
    this.response = response
    if (head.length > 0) this.onData(head)
    // Read, so that it is heard when he leaves.
    socket.on('data', this.onData).on('end', this.onEnd)
    socket.resume()
  }

  /** The connection itself, and what has come on it. */
  take(): { readonly client: Socket; readonly early: readonly Buffer[] } {
    const { socket, early } = this
    this.response.detachSocket(socket)
    socket.off('data', this.onData).off('end', this.onEnd).off('drain', this.onDrain)
    return { client: socket, early }
  }

  /** Ends it at once. */
  cut(): void {
    this.socket.destroy()
    this.tunnel?.cut()
  }

  private readonly onData = (piece: Buffer): void => {
    this.early.push(piece)
    this.earlyBytes += piece.length
    if (this.earlyBytes > EARLY_BYTES) this.socket.pause()
  }

  private readonly onEnd = (): void => {
    this.socket.destroy()
  }

  private readonly onDrain = (): void => {
    this.response.emit('drain')
  }
}
