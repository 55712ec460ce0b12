import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

// What node:http and node:tls keep to themselves, and we cannot do without. All of it is here, and test/node-internals.test.ts looks at each on a real
// connection: a version of Node that lacks one fails that test.

interface Internals {
  readonly parser?: { getCurrentBuffer?(): Buffer | null } | null
  _httpMessage?: ServerResponse | null
  _paused?: boolean
}

/** The answer that is being written. Nothing public tells of it: it is over when the last byte is with the system, and the next one begins. */
export function writingOn(socket: Socket & Internals): ServerResponse | null {
  return socket._httpMessage ?? null
}

/** Where node:http has stopped reading, since answers pile up, it starts again: as long as its listeners are there. */
export function readAgain(socket: Socket & Internals): void {
  socket._paused = false
  socket.emit('resume')
}

interface TlsInternals {
  readonly _handle?: {
    readonly reading?: boolean
    /** The TCP connection beneath. */
    readonly _parent?: { readStart?(): number; readStop?(): number }
  } | null
}

/**
 * Whether TCP is over beneath a TLS connection. Asked while the end of what comes is told of (`push(null)`), it tells the two ends apart: a peer
 * that has said goodbye (`close_notify`) is at its end while TCP is still read, or told to wait; where TCP has ended first, anybody may have cut
 * the connection. libuv has stopped reading by then, and would begin again; of one that it reads it says so.
 */
export function tcpIsOver({ _handle }: TlsInternals): boolean {
  const tcp = _handle?._parent
  if (_handle?.reading !== true || tcp?.readStart === undefined) return false
  if (tcp.readStart() !== 0) return false
  tcp.readStop?.()
  return true
}

/** The TCP connection beneath one that speaks TLS, or would have: of a handshake that came to nothing Node hands over no more. */
export function carrierOf(socket: Socket & { readonly _parent?: Socket | null }): Socket | undefined {
  return socket._parent ?? undefined
}

/** The packet that is being parsed; asked while a head is told of, and nowhere else. A copy. */
export function packetOn(socket: Socket & Internals): Buffer | undefined {
  return socket.parser?.getCurrentBuffer?.() ?? undefined
}
