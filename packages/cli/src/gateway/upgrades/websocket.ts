import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../exchange/problem.ts'

// The opening handshake of a WebSocket (RFC 6455, 4). A gateway that takes any 101 for a yes, or any request for a handshake, can be made to
// carry requests that it never saw: so both are looked at.

/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

const noGet = new Problem('bad-request', 'A WebSocket begins with GET.', { closing: true })
const noKey = new Problem('bad-request', 'A WebSocket begins with a Sec-WebSocket-Key of 16 bytes.', { closing: true })
const noVersion = new Problem('bad-request', 'A WebSocket begins with a Sec-WebSocket-Version.', { closing: true })

/** What a request lacks as a handshake; undefined when it is one. */
export function handshakeFault(method: string, headers: IncomingHttpHeaders): Problem | undefined {
  if (method !== 'GET') return noGet
  if (!KEY.test(headers['sec-websocket-key'] ?? '')) return noKey
  return /^\d{1,3}$/.test(headers['sec-websocket-version'] ?? '') ? undefined : noVersion
}

/** Whether the server has said yes to this very handshake. */
export function accepts(key: string, headers: IncomingHttpHeaders): boolean {
  const accept = createHash('sha1')
    .update(key + GUID)
    .digest('base64')
  return headers['sec-websocket-accept'] === accept
}
