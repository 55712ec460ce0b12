import type { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type buildConnector, Client, type Dispatcher } from 'undici'
import { endsWithConnection } from '../heads/response-head.ts'
import { tcpIsOver } from '../listener/node-internals.ts'
import { InterimAnswers } from './interim-answers.ts'

// One connection to an upstream: a Client of undici, which makes it when it is asked, and anew when it is gone.
//
// What undici does not tell is looked up on the socket: that a connection which is still being made is wanted no more (undici lets it go on
// until its time is over), and that a body which ends with its connection was cut off (a reset passes for the end there, and in TLS so does an
// end without a goodbye, which anybody on the way can write: RFC 8446, 6.1; RFC 9112, 9.8).

/** Hears what becomes of connections. */
export interface Watcher {
  opened(): void
  closed(): void
  /** None could be made, in the words of the system. */
  failed(why: string): void
  /** What our own handlers threw. */
  fault(error: unknown): void
}

export interface ConnectionOptions extends Client.Options {
  readonly connect: buildConnector.connector
  readonly maxHeaderSize: number
}

const truncated = Object.assign(new Error('TLS ended without a goodbye'), { code: 'ECONNRESET' })

/** undici's connector returns the socket, though its types do not say so. */
type Connect = (to: buildConnector.Options, done: buildConnector.Callback) => Socket

export class Connection {
  /** Whole answers that its socket has carried. From the first on a server may close it just when the next request is on its way. */
  served = 0
  /** What broke its socket. */
  private fault: Error | null = null
  /** It speaks TLS, and ended without a goodbye. */
  private unsaid = false
  private readonly client: Client
  private readonly mostHeadBytes: number
  private socket: Socket | null = null
  private interim: InterimAnswers | null = null
  private connected = false

  constructor(origin: string, options: ConnectionOptions, watcher: Watcher) {
    const connect = options.connect as unknown as Connect
    this.mostHeadBytes = options.maxHeaderSize
    this.client = new Client(origin, {
      ...options,
      connect: (to, done) => this.watch(connect(to, done)),
    })
    this.client.on('connect', () => {
      this.connected = true
      watcher.opened()
    })
    this.client.on('connectionError', (_origin, _targets, error) => watcher.failed(error.message))
    this.client.on('disconnect', () => {
      this.connected = false
      // They may have become a tunnel's.
      this.socket = null
      this.interim = null
      watcher.closed()
    })
    // Not in undici's types: what our own handlers throw comes here, and would end the process.
    ;(this.client as EventEmitter).on('error', (error: unknown) => watcher.fault(error))
  }

  get isOpen(): boolean {
    return this.connected
  }

  /** The server has begun to answer, if only with an interim answer or a part of a head. */
  get heard(): boolean {
    return this.interim?.seen === true
  }

  /** Why an answer with these headers that has come to its end is not whole; null: it is. */
  cutOff(headers: IncomingHttpHeaders): Error | null {
    return this.fault ?? (this.unsaid && endsWithConnection(headers) ? truncated : null)
  }

  send(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.interim?.expect()
    this.client.dispatch(options, handler)
  }

  /** Ends it, whatever it is doing. */
  async end(reason?: Error): Promise<void> {
    // With an error, so that undici's timer ends, too; nobody hears of it any more.
    if (!this.connected) this.socket?.destroy(reason ?? new Error('the connection is not wanted any more'))
    await (reason === undefined ? this.client.destroy() : this.client.destroy(reason))
  }

  private watch(socket: Socket): void {
    const interim = new InterimAnswers(this.mostHeadBytes)
    const { read } = socket as { read: (this: Socket, size?: number) => Buffer | null }
    // Not bound, and nothing is not strained: it is asked twice for every answer, the second time in vain.
    socket.read = (size?: number) => {
      const piece = read.call(socket, size)
      return piece === null ? null : interim.strain(piece)
    }
    // Before undici hears of it, which may take it for the end of an answer.
    socket.on('error', (error) => {
      this.fault = error
    })
    if (socket instanceof TLSSocket) this.watchEnd(socket)
    this.socket = socket
    this.interim = interim
    this.fault = null
    this.unsaid = false
    this.served = 0
  }

  private watchEnd(socket: TLSSocket): void {
    const { push } = socket
    socket.push = (piece: unknown, encoding?: BufferEncoding) => {
      if (piece === null && tcpIsOver(socket as object)) this.unsaid = true
      return push.call(socket, piece, encoding)
    }
  }
}
