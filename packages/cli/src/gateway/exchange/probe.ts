import type { IncomingMessage, ServerResponse } from 'node:http'

/** A `100 Continue` that nobody has asked for may be sent to everybody but HTTP/1.0, and is thrown away (RFC 9110, 15.2.1). */
export function probe(request: IncomingMessage, response: ServerResponse): void {
  if (response.socket !== null && !response.headersSent && request.httpVersionMinor !== 0) response.writeContinue()
}
