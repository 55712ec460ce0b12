// What a server sends that is broken, hostile, or only unusual. The kind is read from the target, so that a case is the same again.
import { createHash } from 'node:crypto'
import { randomOf } from './random.mjs'
import { canonical } from './targets.mjs'

/**
 * @typedef {object} Asked what an answer depends on
 * @property {string} method
 * @property {string} target
 * @property {string} body
 * @property {boolean} upgrade
 * @property {readonly (readonly [name: string, value: string])[]} [fields] for the handshake of a WebSocket
 */

/**
 * @typedef {object} Answer
 * @property {string} bytes
 * @property {boolean} whole if not, it must never reach a client as a whole message
 * @property {boolean} close the server closes behind it
 * @property {number} status
 * @property {string} content what a client may take for the body of it
 * @property {number} pieces in how many it is sent
 */

/**
 * Every answer says which request it is for.
 *
 * @param {Asked} request
 * @returns {Answer}
 */
export function answerTo({ method, target, body, upgrade, fields = [] }) {
  // However the target is written on its way.
  const random = randomOf(hash(canonical(target) + body.length))
  const content = `answer to ${target} ${'r'.repeat(random.below(2000))}`
  const kind = random.below(40)
  const pieces = random.chance(0.2) ? 2 + random.below(3) : 1
  const echo = `X-Echo: ${escaped(target)}\r\n`
  /**
   * @param {string} status
   * @param {string} lines
   */
  const head = (status, lines) => `HTTP/1.1 ${status}\r\n${echo}${lines}\r\n`
  /**
   * @param {string} bytes
   * @param {Partial<Answer>} [but]
   * @returns {Answer}
   */
  const whole = (bytes, but = {}) => ({ bytes, whole: true, close: false, status: 200, content, pieces, ...but })
  /** @param {string} bytes */
  const half = (bytes) => whole(bytes, { whole: false, close: true })
  const length = `Content-Length: ${content.length}\r\n`
  const coded = 'Transfer-Encoding: chunked\r\n'
  const chunks = `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`
  // In one piece with the answer that it stands behind: what comes later may be the next one, for all that anybody can tell (RFC 9112, 9.2).
  const behind = { pieces: 1 }
  const poison = 'HTTP/1.1 200 OK\r\nX-Echo: poison\r\nContent-Length: 0\r\n\r\n'
  const bare = method === 'HEAD'

  if (upgrade) {
    // So that it is known by its answer that the server was asked for it at all.
    const offered = 'X-Offered: 1\r\n'
    switch (kind % 3) {
      case 0: // behind it there is a tunnel, which the server ends
        return whole(head('101 Switching Protocols', offered + switching(fields)) + content, {
          status: 101,
          close: true,
        })
      case 1: // it goes on in HTTP, and does what it was asked for
        return whole(head('200 OK', offered + length) + (bare ? '' : content))
      default:
        return whole(head('404 Not Found', offered + length) + (bare ? '' : content), { status: 404 })
    }
  }
  if (bare) return whole(head('200 OK', length))
  switch (kind) {
    case 0:
      return whole(head('204 No Content', ''), { status: 204 })
    case 1:
      return whole(head('304 Not Modified', 'ETag: "x"\r\n'), { status: 304 })
    case 2:
      return whole(head('200 OK', 'Connection: close\r\n') + content, { close: true })
    case 3:
      return whole(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${head('200 OK', length)}${content}`)
    case 4:
      return whole(head('500 Oops', length) + content, { status: 500 })
    case 19:
      return whole(head('304 Not Modified', length), { status: 304 })
    case 20:
      return whole('HTTP/1.1 102 Processing\r\n\r\n'.repeat(1 + random.below(20)) + head('200 OK', coded) + chunks)
    // From here on something is wrong.
    case 5:
      return half(head('200 OK', `Content-Length: ${content.length + 10}\r\n`) + content)
    case 6:
      return half(`${head('200 OK', coded)}5\r\nabcde\r\n`)
    case 7:
      return half(`${head('200 OK', `${length}${coded}`)}${content}`)
    case 8:
      return half(`${head('200 OK', `${length}Content-Length: 3\r\n`)}${content}`)
    case 9: // bytes behind the answer: a poisoned answer for the next one
      return whole(`${head('200 OK', length)}${content}${poison}`, behind)
    case 10:
      return half('HTTP/1.1 200 OK\nContent-Length: 0\n\n')
    case 11:
      return half(random.bytes(50))
    case 12:
      return half('')
    case 13: // what nobody asked for, and what would be beyond it
      return half(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n${poison}`)
    case 14:
      return half(`HTTP/1.1 200 OK\r\nX-Bad: a\0b\r\n${length}\r\n${content}`)
    case 15: {
      const text = head('200 OK', length) + content
      return half(text.slice(0, random.below(text.length)))
    }
    case 16: // longer than it said
      return whole(`${head('200 OK', 'Content-Length: 3\r\n')}${content}`, {
        close: true,
        content: content.slice(0, 3),
      })
    case 17:
      return half(`${head('200 OK', coded)}zz\r\n${content}`)
    case 18:
      return whole(`${head('200 OK', `${coded}Trailer: X-T\r\n`)}3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n`, { content: 'abc' })
    case 21: // a body where there can be none
      return whole(head('204 No Content', '') + poison, { ...behind, status: 204, close: true })
    default:
      return whole(kind < 30 ? head('200 OK', length) + content : head('200 OK', coded) + chunks)
  }
}

/**
 * What says yes to a WebSocket (RFC 6455, 4.2.2).
 *
 * @param {readonly (readonly [name: string, value: string])[]} fields of the request
 */
function switching(fields) {
  const key = fields.find(([name]) => name === 'sec-websocket-key')?.[1] ?? ''
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
  return `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n`
}

/**
 * A target as a header value that any parser takes.
 *
 * @param {string} target
 */
export const escaped = (target) => Buffer.from(target, 'latin1').toString('base64')

/** @param {string} text */
function hash(text) {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
