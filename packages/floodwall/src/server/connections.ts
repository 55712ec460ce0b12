import type { Socket } from 'node:net'
import { FRESH, UNKNOWN } from './queue-delay.ts'

// Who hears that a client has left?
//
// A response tells of its own end, but one that waits behind another on the same connection (pipelining) has no socket yet, and never hears that
// it was closed. So the connection is listened to as well: with one listener, however many requests it carries.

/** Somebody who waits for an answer over a connection. */
export interface Waiting {
  /** The connection is gone. */
  lost(): void
}

/** What is known of one connection. */
export class Connection {
  /** Its peer is believed, and asked once. */
  readonly trusted: boolean
  /** It may call its requests `CRITICAL_PLUS`. */
  readonly criticalPlus: boolean
  /** When its last answer ended, on the runtime's precise clock. */
  answeredAt: number
  /** It has not carried a request yet. */
  fresh = true
  /** One at a time, mostly: a set is for those who send the next request before they have the answer to the last. */
  private only: Waiting | null = null
  private readonly others = new Set<Waiting>()

  constructor(socket: Socket, trusted: boolean, criticalPlus: boolean) {
    this.trusted = trusted
    this.criticalPlus = criticalPlus
    // What TLS says before a request, and streams of one session, take turns that nobody counts.
    this.answeredAt = 'encrypted' in socket ? UNKNOWN : FRESH
    socket.once('close', () => {
      this.only?.lost()
      for (const one of [...this.others]) one.lost()
    })
  }

  /** For the queue delay: no request that comes now is older. */
  get since(): number {
    return this.only !== null || this.others.size > 0 ? UNKNOWN : this.answeredAt
  }

  add(one: Waiting): void {
    this.fresh = false
    if (this.only === null) this.only = one
    else this.others.add(one)
  }

  delete(one: Waiting): void {
    if (this.only === one) this.only = null
    else this.others.delete(one)
  }
}

/** The connections over which a server is asked. */
export class Connections {
  private readonly trusted: (address: string | undefined) => boolean
  private readonly criticalPlus: (address: string | undefined) => boolean
  private readonly bySocket = new WeakMap<Socket, Connection>()

  constructor(
    trusted: (address: string | undefined) => boolean,
    criticalPlus: (address: string | undefined) => boolean,
  ) {
    this.trusted = trusted
    this.criticalPlus = criticalPlus
  }

  of(socket: Socket): Connection {
    let connection = this.bySocket.get(socket)
    if (connection === undefined) {
      const { remoteAddress } = socket
      const trusted = this.trusted(remoteAddress)
      connection = new Connection(socket, trusted, trusted && this.criticalPlus(remoteAddress))
      this.bySocket.set(socket, connection)
    }
    return connection
  }
}
