import { createHash } from 'node:crypto'
import type { Upgrader } from './origin.ts'

// WebSockets as the tests need them: the handshake as bytes, frames as bytes, and a server that repeats what it hears.

/** The example of RFC 6455, 1.3. */
export const KEY = 'dGhlIHNhbXBsZSBub25jZQ=='

export function handshake(more: readonly string[] = [], path = '/'): string {
  const lines = ['Connection: Upgrade', 'Upgrade: websocket', `Sec-WebSocket-Key: ${KEY}`, 'Sec-WebSocket-Version: 13']
  return `${[`GET ${path} HTTP/1.1`, 'Host: x', ...lines, ...more].join('\r\n')}\r\n\r\n`
}

function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

/** A server's yes, with what follows it. */
export function yes(key: string, more: readonly string[] = [], behind: Buffer | string = ''): Buffer {
  const lines = ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${acceptOf(key)}`, ...more]
  const head = `HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), Buffer.from(behind as string, 'latin1')])
}

/** A frame; as a client sends it with `mask`. */
export function frame(payload: Buffer | string, { opcode = 1, mask }: { opcode?: number; mask?: Buffer } = {}): Buffer {
  const body = Buffer.from(payload as string)
  const { length } = body
  const bit = mask === undefined ? 0 : 0x80
  const size = length < 126 ? [bit | length] : length < 65_536 ? [bit | 126, length >> 8, length & 255] : undefined
  const long = Buffer.alloc(9)
  long[0] = bit | 127
  long.writeBigUInt64BE(BigInt(length), 1)
  const head = Buffer.concat([Buffer.from([0x80 | opcode]), size === undefined ? long : Buffer.from(size)])
  if (mask === undefined) return Buffer.concat([head, body])
  return Buffer.concat([head, mask, Buffer.from(body.map((byte, i) => byte ^ (mask[i % 4] as number)))])
}

export interface Frame {
  readonly opcode: number
  readonly masked: boolean
  readonly payload: Buffer
}

/** The frames in `bytes`, and what is left behind the last whole one. */
export function framesIn(bytes: Buffer): { readonly frames: Frame[]; readonly rest: Buffer } {
  const frames: Frame[] = []
  let rest = bytes
  for (;;) {
    const size = (rest[1] ?? 0) & 127
    const start = size === 126 ? 4 : size === 127 ? 10 : 2
    const masked = (rest[1] ?? 0) >= 128
    const from = start + (masked ? 4 : 0)
    if (rest.length < from) return { frames, rest }
    const length = size === 126 ? rest.readUInt16BE(2) : size === 127 ? Number(rest.readBigUInt64BE(2)) : size
    if (rest.length < from + length) return { frames, rest }
    const mask = rest.subarray(start, from)
    const payload = Buffer.from(rest.subarray(from, from + length))
    if (masked) for (let i = 0; i < length; i++) payload[i] = (payload[i] as number) ^ (mask[i % 4] as number)
    frames.push({ opcode: (rest[0] as number) & 15, masked, payload })
    rest = rest.subarray(from + length)
  }
}

/** Says yes, repeats every message, and answers a Close with a Close. */
export const echo: Upgrader = (request, socket, head) => {
  socket.on('error', () => {})
  const [protocol] = (request.headers['sec-websocket-protocol'] ?? '').split(',')
  const more = protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]
  socket.write(yes(request.headers['sec-websocket-key'] as string, more))
  let rest = Buffer.alloc(0)
  const hear = (bytes: Buffer): void => {
    const found = framesIn(Buffer.concat([rest, bytes]))
    rest = Buffer.from(found.rest)
    for (const { opcode, payload } of found.frames) {
      socket.write(frame(payload, { opcode }))
      if (opcode === 8) socket.end()
    }
  }
  if (head.length > 0) hear(head)
  socket.on('data', hear)
  socket.on('end', () => socket.end())
}

/** The same for bytes. */
export const mirror: Upgrader = (request, socket, head) => {
  socket.on('error', () => {})
  socket.write(yes(request.headers['sec-websocket-key'] as string))
  if (head.length > 0) socket.write(head)
  socket.pipe(socket)
}
