import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

// The TCP connections beneath those that speak TLS.
//
// Node hands over a connection when its handshake is done. Before that it is nobody's, though it takes a place; and only TCP can be reset,
// which is what tells a client that its answer is not whole. So they are kept from the first moment, and found again by their two ends.

export class Carriers {
  /** Connections whose handshake is not done. */
  readonly handshaking: Set<Socket> = new Set()
  private readonly byEnds = new Map<string, Socket>()

  add(socket: Socket): void {
    const ends = endsOf(socket)
    this.handshaking.add(socket)
    this.byEnds.set(ends, socket)
    socket.once('close', () => {
      this.handshaking.delete(socket)
      if (this.byEnds.get(ends) === socket) this.byEnds.delete(ends)
    })
  }

  /** The one that carries `socket`, whose handshake is done; undefined when it is gone already. */
  beneath(socket: TLSSocket): Socket | undefined {
    const carrier = this.byEnds.get(endsOf(socket))
    if (carrier !== undefined) this.handshaking.delete(carrier)
    return carrier
  }

  /** Ends the handshakes. */
  cut(): void {
    for (const socket of this.handshaking) socket.destroy()
  }
}

/** Unique among connections that are open. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
