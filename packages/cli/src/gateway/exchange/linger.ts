import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Peer } from '../listener/peer.ts'

// The end of an answer that came before the end of its request. A connection that is closed on unread data loses the answer, too: so what
// the client still sends is read for a while, and thrown away. One who sends without end is not read any more, and has the rest of the time
// to see why.

/** For so long. */
const LINGER_MS = 1000
/** ... and so much of it. What is known to be shorter is simply read, and the connection goes on. */
export const LINGER_BYTES: number = 1024 * 1024

/** Writes the `last` of the answer, and closes the connection unless the request ends in time. */
export function linger(request: IncomingMessage, response: ServerResponse, peer: Peer, last: Buffer | null): void {
  if (last === null) response.flushHeaders()
  else response.write(last)
  let left = LINGER_BYTES
  const finish = (): void => {
    clearTimeout(timer)
    request.off('end', finish).off('close', finish).off('data', count)
    if (request.complete) return void response.end()
    peer.closing = true
    // Answers to earlier requests may still be due.
    response.end(() => peer.socket.destroySoon())
  }
  const count = (chunk: Buffer): void => {
    left -= chunk.length
    if (left < 0) request.pause()
  }
  const timer = setTimeout(finish, LINGER_MS)
  request.on('end', finish).on('close', finish).on('data', count)
  request.resume()
}
