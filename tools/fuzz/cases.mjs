// What a hostile client sends: proper requests, several on a connection, and then bytes of them changed where it hurts.
import { randomOf, seedOf } from './random.mjs'

/** @typedef {import('./random.mjs').Random} Random */

/**
 * @typedef {object} Case
 * @property {number} number
 * @property {boolean} clean nothing was changed: HTTP/1.1 by the letter, and its requests are due an answer
 * @property {string} text the bytes, as latin1 text
 * @property {readonly number[]} cuts where they are cut into packets, ascending
 * @property {number} pauseMs between two packets; 0: the next one goes out in the next turn
 * @property {number} leavesAt the client goes when so many bytes are sent; -1: it stays to hear the answers
 * @property {boolean} halfClose it sends a FIN behind the last byte, and listens on
 * @property {boolean} resets it does not close, it resets
 */

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'POST', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']

/** @param {string} id */
const poison = (id) => `GET /poison/${id} HTTP/1.1\r\nHost: evil\r\nX-Poison: 1\r\n\r\n`

/** Lines and pieces that parsers read in different ways, or did once. */
// biome-ignore format: a list to look at
const DICTIONARY = [
  '\r\n', '\n', '\r', '\r\r\n', '\n\n', ' ', '\t', '\0', '\x0b', '\x7f', '\xff', ':', ' :', ';', ',', '"', '%00', '%2e%2e/', '//', '\\',
  'Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'Content-Length: +5\r\n', 'Content-Length: 5, 5\r\n', 'Content-Length: 0x5\r\n',
  'Content-Length : 5\r\n', 'Content-Length: -1\r\n', 'Content-Length: 99999999999999999999\r\n', 'Content_Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: Chunked\r\n', 'Transfer-Encoding: xchunked\r\n', 'Transfer-Encoding : chunked\r\n',
  'Transfer-Encoding: chunked, gzip\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding:\x0bchunked\r\n', 'Transfer-Encoding: chunked,\r\n', 'Transfer-Encoding:\r\n chunked\r\n', 'X: y\r\n folded\r\n',
  'Host: second\r\n', 'Host:\r\n', 'Connection: close\r\n', 'Connection: Content-Length\r\n', 'Connection: Host, X-Fuzz\r\n',
  'Expect: 100-continue\r\n', 'Expect: 200-ok\r\n', 'Upgrade: h2c\r\nConnection: Upgrade\r\n', 'Upgrade: websocket\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n', 'TE: trailers\r\n', 'Trailer: X-Fuzz\r\n',
  'HTTP/1.0', 'HTTP/1.1', 'HTTP/2.0', 'HTTP/0.9', 'GET http://evil.test/x HTTP/1.1\r\n', 'CONNECT evil.test:443 HTTP/1.1\r\n',
  '0\r\n\r\n', '5\r\nabcde\r\n', 'FFFFFFFFFFFFFFFF\r\n', '5;a=b\r\n', '5;a\nb\r\n', '00000000000000005\r\n', '-5\r\n', '5 \r\n', 'g\r\n',
]

/** How many bytes a slow client sends one by one; then it has shown what it can, and nobody has to wait longer. */
const DRIP_BYTES = 120

/**
 * The case of a number: always the same.
 *
 * @param {number} seed
 * @param {number} number
 * @returns {Case}
 */
export function caseOf(seed, number) {
  const random = randomOf(seedOf(seed, number))
  const count = random.chance(0.03) ? 5 + random.below(8) : 1 + random.below(4)
  const old = random.chance(0.03)
  const requests = Array.from({ length: count }, (_, i) => request(`${seed}-${number}-${i}`, old, random))
  const clean = random.chance(0.2)
  let text = requests.join('')
  const changes = clean ? 0 : 1 + random.below(3)
  for (let i = 0; i < changes; i++) text = changed(text, random)
  const one = {
    number,
    clean,
    text,
    ...packets(text.length, random),
    leavesAt: random.chance(0.1) ? random.below(text.length + 1) : -1,
    halfClose: random.chance(0.2),
    resets: random.chance(0.1),
  }
  return random.chance(0.03) ? goneAtOnce(one, random) : one
}

/**
 * What leaves HTTP, alone or behind what there was, and a reset right behind it: the connection is nobody's for a moment.
 *
 * @param {Case} one
 * @param {Random} random
 * @returns {Case}
 */
function goneAtOnce(one, random) {
  const lines = [`Host: evil.test`, ...(random.chance(0.5) ? [] : websocket(random))]
  const first = lines.length > 1 ? 'GET /gone HTTP/1.1' : 'CONNECT evil.test:443 HTTP/1.1'
  const text = `${random.chance(0.5) ? one.text : ''}${first}\r\n${lines.join('\r\n')}\r\n\r\n${random.chance(0.3) ? 'early' : ''}`
  return { ...one, clean: false, text, cuts: [], pauseMs: 0, leavesAt: text.length, halfClose: false, resets: true }
}

/**
 * @param {number} length
 * @param {Random} random
 * @returns {{ cuts: number[], pauseMs: number }}
 */
function packets(length, random) {
  if (random.chance(0.01)) {
    const from = random.below(length + 1)
    const bytes = Math.min(DRIP_BYTES, length - from)
    return { cuts: Array.from({ length: bytes }, (_, i) => from + i), pauseMs: 1 + random.below(4) }
  }
  if (random.chance(0.5)) return { cuts: [], pauseMs: 0 }
  const cuts = Array.from({ length: random.below(6) }, () => random.below(length + 1))
  return { cuts: cuts.sort((a, b) => a - b), pauseMs: 0 }
}

/**
 * A proper request.
 *
 * @param {string} id
 * @param {boolean} old of a client that knows HTTP/1.0 only
 * @param {Random} random
 */
function request(id, old, random) {
  const method = random.one(METHODS)
  const minor = old || random.chance(0.05) ? 0 : 1
  const target = `/f/${id}${random.one(['', '', '?q=1', '?a=//b&c=%zz', '/%41', '/a//b', '/./x', '/x/../y'])}`
  const lines = [`X-Fuzz: ${id}`]
  if (minor === 1 || random.chance(0.7)) lines.push('Host: fuzz.test')
  if (random.chance(old ? 0.8 : 0.3)) lines.push('Connection: keep-alive')
  if (random.chance(0.05)) lines.push('Connection: close')
  if (random.chance(0.3)) lines.push(`X-Pad: ${'p'.repeat(random.below(200))}`)
  let body = ''
  const has = method === 'POST' || method === 'PUT' || method === 'PATCH' || random.chance(0.05)
  if (has) {
    const content = bodyOf(id, random)
    if (random.chance(0.05)) lines.push('Expect: 100-continue')
    if (minor === 1 && random.chance(0.5)) {
      lines.push('Transfer-Encoding: chunked')
      body = chunked(content, random)
    } else {
      lines.push(`Content-Length: ${content.length}`)
      body = content
    }
  } else if (method === 'GET' && minor === 1 && random.chance(0.03)) lines.push(...websocket(random))
  random.shuffle(lines)
  return `${method} ${target} HTTP/1.${minor}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

/**
 * What asks for a WebSocket. The server behind says yes to some of them: what follows is HTTP no more.
 *
 * @param {Random} random
 */
function websocket(random) {
  const key = Buffer.from(random.bytes(16), 'latin1').toString('base64')
  const upgrade = random.one(['Upgrade: websocket', 'Upgrade: WebSocket', 'upgrade: websocket'])
  const connection = random.one(['Connection: Upgrade', 'Connection: upgrade', 'Connection: keep-alive, Upgrade'])
  return [upgrade, connection, `Sec-WebSocket-Key: ${key}`, 'Sec-WebSocket-Version: 13']
}

/**
 * Bodies are what could be taken for a request, or for an end.
 *
 * @param {string} id
 * @param {Random} random
 */
function bodyOf(id, random) {
  switch (random.below(5)) {
    case 0:
      return poison(id)
    case 1:
      return `0\r\n\r\n${poison(id)}`
    case 2:
      return random.bytes(random.below(300))
    case 3:
      return `${id}${'b'.repeat(random.below(3000))}`
    default:
      return ''
  }
}

/**
 * @param {string} content
 * @param {Random} random
 */
function chunked(content, random) {
  let text = ''
  for (let at = 0; at < content.length; ) {
    const size = 1 + random.below(Math.min(700, content.length - at))
    const length = random.chance(0.5) ? size.toString(16) : size.toString(16).toUpperCase()
    text += `${length}${random.chance(0.1) ? ';ext=1' : ''}\r\n${content.slice(at, at + size)}\r\n`
    at += size
  }
  return `${text}0\r\n${random.chance(0.2) ? 'X-Trailer: t\r\n' : ''}\r\n`
}

/**
 * @param {string} text
 * @param {Random} random
 */
function changed(text, random) {
  const at = random.below(text.length + 1)
  switch (random.below(8)) {
    case 0: // a byte becomes another one
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + 1)
    case 1: // a piece of the dictionary anywhere
      return text.slice(0, at) + random.one(DICTIONARY) + text.slice(at)
    case 2:
    case 3: {
      // ... and where lines begin
      const line = text.indexOf('\r\n', at)
      const begin = line < 0 ? 0 : line + 2
      return text.slice(0, begin) + random.one(DICTIONARY) + text.slice(begin)
    }
    case 4: // something is missing
      return text.slice(0, at) + text.slice(at + 1 + random.below(20))
    case 5: {
      // something is there twice
      const end = Math.min(text.length, at + 1 + random.below(120))
      return text.slice(0, end) + text.slice(at)
    }
    case 6: {
      // another length
      const by = random.below(9) - 4
      return text.replace(/Content-Length: (\d+)/, (_, n) => `Content-Length: ${Math.max(0, Number(n) + by)}`)
    }
    default: // a line end of another kind
      return replaceNth(text, '\r\n', random.below(12), random.one(['\n', '\r', '\r\r\n', '\n\r', '\r\n ', ' \r\n']))
  }
}

/**
 * @param {string} text
 * @param {string} what
 * @param {number} n
 * @param {string} by
 */
function replaceNth(text, what, n, by) {
  let at = -1
  for (let i = 0; i <= n; i++) {
    at = text.indexOf(what, at + 1)
    if (at < 0) return text
  }
  return text.slice(0, at) + by + text.slice(at + what.length)
}
