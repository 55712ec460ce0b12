import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isStream } from './answering.ts'
import { FRESH, UNKNOWN } from './queue-delay.ts'

// Who hears that a client has left?
//
// A response tells of its own end, but one that waits behind another on the same connection (pipelining) has no socket yet, and never hears that
// it was closed. So the connection is listened to as well: with one listener, however many requests it carries.

/** Somebody who waits for an answer over a connection. */
export interface Waiting {
  /** The connection is gone, or the answer is over. */
  lost(): void
  /** The answer is over. */
  readonly isOver: boolean
}

/** What is known of one connection. */
export class Connection {
  /** Its peer is believed, and asked once. */
  readonly trusted: boolean
  /** It may call its requests `CRITICAL_PLUS`. */
  readonly criticalPlus: boolean
  /** When its last answer ended: the clock as it was read last in that turn. */
  answeredAt: number
  /** It has not carried a request yet. */
  fresh = true
  /** One at a time, mostly: a set is for those who send the next request before they have the answer to the last. */
  private only: Waiting | null = null
  private readonly others = new Set<Waiting>()

  /** Whose it is: each edge knows something else of it. */
  readonly owner: object
  /** The same of another edge. */
  readonly next: Connection | null

  constructor(
    socket: Socket,
    trusted: boolean,
    criticalPlus: boolean,
    owner: object,
    next: Connection | null,
    isStream: boolean,
  ) {
    this.trusted = trusted
    this.criticalPlus = criticalPlus
    this.owner = owner
    this.next = next
    // What TLS says before a request, and streams of one session, take turns that nobody counts.
    this.answeredAt = 'encrypted' in socket ? UNKNOWN : FRESH
    const over = (): void => {
      this.only?.lost()
      for (const one of [...this.others]) one.lost()
    }
    // Before Node tells the response: who hears there that the client has left finds the call told already.
    if (isStream) socket.once('close', over)
    else socket.prependOnceListener('close', over)
  }

  /** For the queue delay: no request that comes now is older. */
  get since(): number {
    return this.only !== null || this.others.size > 0 ? UNKNOWN : this.answeredAt
  }

  add(one: Waiting): void {
    this.fresh = false
    // Somebody has ended an answer past the methods that we listen at.
    if (this.only?.isOver === true) this.only.lost()
    if (this.others.size > 0) for (const other of [...this.others]) if (other.isOver) other.lost()
    if (this.only === null) this.only = one
    else this.others.add(one)
  }

  delete(one: Waiting): void {
    if (this.only === one) this.only = null
    else this.others.delete(one)
  }
}

const LAST: unique symbol = Symbol('floodwall.connection') as never

/** A socket, and what edges know of it: a weak map costs every request a search, and the collector a look at each. */
interface Kept {
  [LAST]?: Connection
}

/** The connections over which a server is asked. */
export class Connections {
  private readonly trusted: (address: string | undefined) => boolean
  private readonly criticalPlus: (address: string | undefined) => boolean

  constructor(
    trusted: (address: string | undefined) => boolean,
    criticalPlus: (address: string | undefined) => boolean,
  ) {
    this.trusted = trusted
    this.criticalPlus = criticalPlus
  }

  of(request: IncomingMessage): Connection {
    const { socket } = request
    // What a stream of HTTP/2 shows as its socket is itself.
    if (isStream(request)) return this.meet(socket, null, true)
    const kept = socket as Kept
    const last = kept[LAST] ?? null
    for (let known = last; known !== null; known = known.next) if (known.owner === this) return known
    const connection = this.meet(socket, last, false)
    kept[LAST] = connection
    return connection
  }

  private meet(socket: Socket, next: Connection | null, isStream: boolean): Connection {
    const { remoteAddress } = socket
    const trusted = this.trusted(remoteAddress)
    const criticalPlus = trusted && this.criticalPlus(remoteAddress)
    return new Connection(socket, trusted, criticalPlus, this, next, isStream)
  }
}
