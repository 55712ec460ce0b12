import type { Socket } from 'node:net'
import type { Exchange } from '../exchange/exchange.ts'

// Who is at the other end of a connection, and is he still with us?
//
// Everything that is known per connection is found out once: the address, and that it closed. A listener per request would cost more, and
// would miss a pipelined request whose turn to answer never came.
//
// One sweep a second looks for clients who keep us waiting: they send nothing of a body that the upstream wants, or read nothing of an answer
// that is there. Nobody else's timer would see them: they are neither idle nor late.

const SWEEP_MS = 1000

export interface PeerLimits {
  /** No byte of an upload for so long. */
  readonly idleMs: number
  /** No byte of an answer taken for so long. */
  readonly stallMs: number
}

export class Peer {
  readonly socket: Socket
  readonly address: string
  /** What it says about a request's way and name is believed. */
  trusted = false
  /** The last answer on this connection is written, or on its way. */
  closing = false
  private first: Exchange | null = null
  private read = -1
  private readSince = 0
  private sent = -1
  private sentSince = 0

  constructor(socket: Socket) {
    this.socket = socket
    const { remoteAddress = 'unknown' } = socket
    // A dual-stack listener sees IPv4 callers as ::ffff:192.0.2.1.
    this.address = remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
  }

  /** True while an answer is due on this connection. */
  get busy(): boolean {
    return this.first !== null
  }

  add(exchange: Exchange): void {
    exchange.after = this.first
    if (this.first !== null) this.first.before = exchange
    this.first = exchange
  }

  remove(exchange: Exchange): void {
    const { before, after } = exchange
    if (before === null) this.first = after
    else before.after = after
    if (after !== null) after.before = before
    exchange.before = null
    exchange.after = null
  }

  closed(): void {
    for (let exchange = this.first; exchange !== null; exchange = this.first) {
      exchange.left()
      // left() takes it out of the list; a list that does not shrink would never end.
      if (this.first === exchange) this.remove(exchange)
    }
  }

  /** Ends the connection without a word. */
  cut(): void {
    this.socket.resetAndDestroy()
  }

  /** The time for the whole request is over, and it is not here yet. */
  tooLate(): void {
    for (let exchange = this.first; exchange !== null; exchange = exchange.after) {
      if (exchange.incomplete) return exchange.stall()
    }
    this.cut()
  }

  sweep(now: number, limits: PeerLimits): void {
    if (this.hasStoppedReading(now, limits.stallMs)) return this.cut()
    for (let exchange = this.first; exchange !== null; exchange = exchange.after) {
      if (!exchange.uploading) continue
      if (this.hasStoppedSending(now, limits.idleMs)) exchange.stall()
      return
    }
    this.read = -1
  }

  private hasStoppedReading(now: number, stallMs: number): boolean {
    const { socket } = this
    if (socket.writableLength === 0) {
      this.sent = -1
      return false
    }
    const sent = socket.bytesWritten - socket.writableLength
    if (sent !== this.sent) {
      this.sent = sent
      this.sentSince = now
      return false
    }
    return now - this.sentSince >= stallMs
  }

  private hasStoppedSending(now: number, idleMs: number): boolean {
    const { bytesRead } = this.socket
    if (bytesRead !== this.read) {
      this.read = bytesRead
      this.readSince = now
      return false
    }
    return now - this.readSince >= idleMs
  }
}

/** All connections of a listener. */
export class Peers {
  private readonly limits: PeerLimits
  private readonly bySocket = new Map<Socket, Peer>()
  private readonly timer: NodeJS.Timeout

  constructor(limits: PeerLimits) {
    this.limits = limits
    this.timer = setInterval(() => this.sweep(performance.now()), SWEEP_MS).unref()
  }

  get size(): number {
    return this.bySocket.size
  }

  admit(socket: Socket): void {
    const peer = new Peer(socket)
    this.bySocket.set(socket, peer)
    socket.once('close', () => {
      this.bySocket.delete(socket)
      peer.closed()
    })
  }

  of(socket: Socket): Peer {
    return this.bySocket.get(socket) as Peer
  }

  sweep(now: number): void {
    for (const peer of this.bySocket.values()) peer.sweep(now, this.limits)
  }

  close(): void {
    clearInterval(this.timer)
  }
}
