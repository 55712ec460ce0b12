import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

// What node:http keeps to itself, and we cannot do without. All of it is here, and test/node-internals.test.ts looks at each on a real
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

/** The packet that is being parsed; asked while a head is told of, and nowhere else. A copy. */
export function packetOn(socket: Socket & Internals): Buffer | undefined {
  return socket.parser?.getCurrentBuffer?.() ?? undefined
}
