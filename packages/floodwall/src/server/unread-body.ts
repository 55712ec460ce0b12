import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Env } from '../core/runtime.ts'

// What becomes of a body whose request was refused?
//
// The next request on its connection stands behind it. A small body is read and thrown away (Node does that when the answer has ended), which
// costs less than a new connection. A large one, or one of which nobody says how large it is, is not worth it: the answer says that the
// connection is closed. Then it must not be cut at once, for what still comes is answered by a reset, and a client that hears of a reset forgets the answer that it had (RFC 9112, 9.6):
// we say that nothing more comes from here, and let the client stop by itself; not for long, and not for much.

/** A body up to this is read away. A new connection costs two round trips and 70 µs of CPU, which is about what this takes to read. */
const SMALL_BYTES = 128 * 1024
/** So long a client may go on sending after it was told that the connection is closed, */
const LINGER_MS = 500
/** and so much. */
const LINGER_BYTES = 1024 * 1024

/** True when the connection cannot be kept for what comes after `request`, refused unread. */
export function endsConnection({ httpVersionMajor, headers }: IncomingMessage): boolean {
  // HTTP/2 has a stream for each.
  if (httpVersionMajor > 1) return false
  // A client that asks whether it may send does not send after a no (RFC 9110, 10.1.1), or does all the same: nobody knows what comes next.
  if (headers.expect !== undefined) return true
  if (headers['transfer-encoding'] !== undefined) return true
  const length = headers['content-length']
  return length !== undefined && Number(length) > SMALL_BYTES
}

/** True when something may still come of `request`. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding !== undefined || (length !== undefined && length !== '0')
}

/** Lets the connection of `request` end softly, after an answer that says so. */
export function endSoftly(request: IncomingMessage, env: Env): void {
  const { socket } = request
  let bytes = 0
  let cancel: (() => void) | undefined
  // Node calls this when the last answer of a connection has ended.
  const destroySoon = (): void => {
    // Somebody has cut it off already, or all has been read.
    if (socket.destroyed || request.complete) return Reflect.apply(inherited, socket, [])
    socket.end()
    cancel = env.after(LINGER_MS, () => socket.destroy(), true)
  }
  const inherited = socket.destroySoon as Socket['destroySoon']
  socket.destroySoon = destroySoon
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > LINGER_BYTES) socket.destroy()
  })
  request.once('end', () => {
    if (cancel !== undefined) socket.destroy()
  })
  socket.once('close', () => cancel?.())
}
