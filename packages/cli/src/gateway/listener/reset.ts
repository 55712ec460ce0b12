import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/**
 * Ends a connection so that what was sent of an answer cannot pass for the whole. Only TCP can be reset; and not when its end is on its way
 * already: libuv refuses, and Node would neither tell of a close nor ever give the descriptor back.
 */
export function reset(socket: Socket): void {
  if (socket.destroyed) return
  const ending = socket.writableEnded && socket.writableLength === 0
  if (ending || socket instanceof TLSSocket) socket.destroy()
  else socket.resetAndDestroy()
}
