import type { Socket } from 'node:net'
import type { Intake } from 'floodwall/server'
import { Arrival } from './arrival.ts'
import { Peer, type PeerLimits } from './peer.ts'
import type { Believed } from './trust.ts'

const SWEEP_MS = 1000

/** All connections of a listener. */
export class Peers {
  limits: PeerLimits
  /** Of connections that are still to come. */
  believed: Believed
  private readonly bySocket = new Map<Socket, Peer>()
  private readonly timer: NodeJS.Timeout

  constructor(limits: PeerLimits, believed: Believed) {
    this.limits = limits
    this.believed = believed
    this.timer = setInterval(() => this.sweep(performance.now()), SWEEP_MS).unref()
  }

  get size(): number {
    return this.bySocket.size
  }

  admit(socket: Socket, carrier?: Socket, door?: Intake): Peer {
    const known = this.bySocket.get(socket)
    // A connection that was offered for another protocol, and stays in HTTP, comes in a second time.
    if (known !== undefined) return known
    // Sockets of TLS would close their side as soon as the client has closed its own.
    socket.allowHalfOpen = true
    const peer = new Peer(socket, this.believed, carrier)
    if (door !== undefined) peer.arrival = new Arrival(door, socket)
    this.bySocket.set(socket, peer)
    socket.once('end', () => peer.halfClosed())
    socket.once('close', () => {
      this.bySocket.delete(socket)
      peer.closed()
    })
    return peer
  }

  of(socket: Socket): Peer {
    return this.bySocket.get(socket) as Peer
  }

  /** Undefined for a connection that was not admitted: its handshake came to nothing. */
  find(socket: Socket): Peer | undefined {
    return this.bySocket.get(socket)
  }

  /** Ends those that have never said anything. */
  closeSilent(): void {
    for (const peer of this.bySocket.values()) if (peer.silent) peer.socket.destroy()
  }

  /** Somebody is slow to take an answer that is whole. */
  get flushing(): boolean {
    for (const peer of this.bySocket.values()) if (peer.flushing) return true
    return false
  }

  /** Ends every connection, whatever it is used for. */
  cut(): void {
    for (const peer of this.bySocket.values()) {
      if (peer.answering) peer.cut()
      else peer.socket.destroy()
    }
  }

  sweep(now: number): void {
    for (const peer of this.bySocket.values()) peer.sweep(now, this.limits)
  }

  close(): void {
    clearInterval(this.timer)
  }
}
