// What a server sends that is broken, hostile, or only unusual. The kind is read from the target, so that a case is the same again.
import { randomOf } from './random.mjs'

/** Every answer says which request it is for; `whole: false` must never reach a client as a whole message. */
export function answerTo(request) {
  const random = randomOf(hash(request.target + request.body.length))
  const content = `answer to ${request.target} ${'r'.repeat(random.below(2000))}`
  const echo = `X-Echo: ${escaped(request.target)}\r\n`
  const head = (status, lines) => `HTTP/1.1 ${status}\r\n${echo}${lines}\r\n`
  const bare = request.method === 'HEAD'
  const length = `Content-Length: ${content.length}\r\n`
  const whole = (bytes, more = {}) => ({ bytes, whole: true, close: false, ...more })
  const kind = random.below(40)
  if (bare) return whole(head('200 OK', length))
  switch (kind) {
    case 0:
      return whole(head('204 No Content', ''))
    case 1:
      return whole(head('304 Not Modified', 'ETag: "x"\r\n'))
    case 2:
      return whole(head('200 OK', 'Connection: close\r\n') + content, { close: true })
    case 3:
      return whole(`HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${head('200 OK', length)}${content}`)
    case 4:
      return whole(head('500 Oops', length) + content)
    // From here on something is wrong.
    case 5:
      return { bytes: head('200 OK', `Content-Length: ${content.length + 10}\r\n`) + content, whole: false, close: true }
    case 6:
      return { bytes: `${head('200 OK', 'Transfer-Encoding: chunked\r\n')}5\r\nabcde\r\n`, whole: false, close: true }
    case 7:
      return { bytes: `${head('200 OK', `${length}Transfer-Encoding: chunked\r\n`)}${content}`, whole: false, close: true }
    case 8:
      return { bytes: `${head('200 OK', `${length}Content-Length: 3\r\n`)}${content}`, whole: false, close: true }
    case 9: // bytes behind the answer: a poisoned answer for the next one
      return whole(`${head('200 OK', length)}${content}HTTP/1.1 200 OK\r\nX-Echo: poison\r\nContent-Length: 0\r\n\r\n`)
    case 10:
      return { bytes: 'HTTP/1.1 200 OK\nContent-Length: 0\n\n', whole: false, close: true }
    case 11:
      return { bytes: random.bytes(50).toString('latin1'), whole: false, close: true }
    case 12:
      return { bytes: '', whole: false, close: true }
    case 13:
      return { bytes: `HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n`, whole: false, close: true }
    case 14:
      return { bytes: `HTTP/1.1 200 OK\r\nX-Bad: a\0b\r\n${length}\r\n${content}`, whole: false, close: true }
    case 15: {
      const text = head('200 OK', length) + content
      return { bytes: text.slice(0, random.below(text.length)), whole: false, close: true }
    }
    case 16: // longer than it said
      return { bytes: `${head('200 OK', 'Content-Length: 3\r\n')}${content}`, whole: true, close: true }
    case 17:
      return { bytes: `${head('200 OK', 'Transfer-Encoding: chunked\r\n')}zz\r\n${content}`, whole: false, close: true }
    case 18:
      return whole(`${head('200 OK', 'Transfer-Encoding: chunked\r\nTrailer: X-T\r\n')}3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n`)
    default:
      if (kind < 28) return whole(head('200 OK', length) + content)
      return whole(`${head('200 OK', 'Transfer-Encoding: chunked\r\n')}${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`)
  }
}

/** A target as a header value that any parser takes. */
export const escaped = (target) => Buffer.from(target, 'latin1').toString('base64')

function hash(text) {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}
