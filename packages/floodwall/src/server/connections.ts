import type { Socket } from 'node:net'

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
  private readonly waiting = new Set<Waiting>()

  constructor(socket: Socket, trusted: boolean, criticalPlus: boolean) {
    this.trusted = trusted
    this.criticalPlus = criticalPlus
    socket.once('close', () => {
      for (const one of [...this.waiting]) one.lost()
    })
  }

  add(one: Waiting): void {
    this.waiting.add(one)
  }

  delete(one: Waiting): void {
    this.waiting.delete(one)
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
