import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Peer } from '../listener/peer.ts'

/** Ends the connection behind the answers that come before this one, which nothing is wrong with. */
export function sever(response: ServerResponse, peer: Peer): void {
  if (response.socket !== null) return peer.cut()
  // Its turn has not come: none of it is written yet, and when it comes none will be.
  peer.closing = true
  response.once('socket', (socket: Socket) => socket.destroySoon())
}
