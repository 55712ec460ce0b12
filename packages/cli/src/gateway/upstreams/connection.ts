import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { type buildConnector, Client, type Dispatcher } from 'undici'
import { InterimAnswers } from './interim-answers.ts'

// One connection to an upstream: a Client of undici, which makes it when it is asked, and anew when it is gone.
//
// What undici does not tell is looked up on the socket: that a connection which is still being made is wanted no more (undici lets it go on
// until its time is over), and that a body which ends with its connection was cut off (a reset passes for the end there).

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

/** undici's connector returns the socket, though its types do not say so. */
type Connect = (to: buildConnector.Options, done: buildConnector.Callback) => Socket

export class Connection {
  /** Whole answers that its socket has carried. From the first on a server may close it just when the next request is on its way. */
  served = 0
  /** What broke its socket. */
  fault: Error | null = null
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

  /** The server has begun to answer, if only with an interim answer. */
  get heard(): boolean {
    return this.interim?.seen === true
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
    this.socket = socket
    this.interim = interim
    this.fault = null
    this.served = 0
  }
}
