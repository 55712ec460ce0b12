import type { Socket } from 'node:net'
import { readAgain } from './node-internals.ts'

// What is done with bytes behind the last request of a connection?
//
// They are thrown away, but they are read: a connection that is closed on bytes that nobody has read is reset, and a client that is reset
// loses the answers which it has not read yet (RFC 9112, 9.6). Parsed they are not: node:http would keep an object for each request that it
// finds in them. So the connection is taken away from the parser, and its end takes three steps: our side is closed, the client has a moment
// to hear of that and to close its own, then it is destroyed.
//
// Both have a bound. Who sends without end is not read any more.

const MOST_BYTES = 1024 * 1024
const MOST_MS = 1000

/** From now on. `tooMuch`: it is not read any more. */
export function throwAway(socket: Socket, tooMuch: () => void): void {
  let left = MOST_BYTES
  const parsers = socket.listeners('data')
  // Where reading was stopped: only node:http's own listener starts it again, and below it is taken off.
  readAgain(socket)
  // Who listens gets the bytes in place of the parser, which has taken them straight from the system until now.
  socket.on('data', (piece: Buffer) => {
    left -= piece.length
    if (left >= 0) return
    socket.pause()
    tooMuch()
  })
  for (const parser of parsers) socket.off('data', parser as (piece: Buffer) => void)
  socket.resume()
  // node:http calls it behind the last answer, and so do we.
  let ending = false
  socket.destroySoon = () => {
    if (!ending) endSlowly(socket)
    ending = true
  }
}

function endSlowly(socket: Socket): void {
  const destroy = (): void => void socket.destroy()
  const linger = (): void => {
    if (socket.readableEnded) return destroy()
    const timer = setTimeout(destroy, MOST_MS)
    socket.once('end', destroy).once('close', () => clearTimeout(timer))
  }
  if (socket.writable) socket.end()
  if (socket.writableFinished) linger()
  else socket.once('finish', linger)
}
