import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

// A request whose offer to change the protocol is ignored is a request like any other, with a body and others behind it. But node:http reads
// no further behind an offer, and takes its parser off the connection. So the request is put back as it came, without the offer, and the
// server gets the connection anew.
//
// The lines are those that the parser has let pass, one by one, so that reading them again finds the same.

export function hearAgain(socket: Socket, request: IncomingMessage, early: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[i + 1]}\r\n`
  }
  socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), early]))
}
